// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstegluploadanswers.hpp"

#include <mutex>
#include <utility>

namespace gstdrm {

std::shared_ptr<const CapsParts>
UploadAnswers::allowed(GstPadDirection direction, GstCaps *peer,
                       const std::shared_ptr<const UploadFormats> &formats)
{
  const bool sink = direction == GST_PAD_SINK;
  Known known;
  {
    const std::lock_guard guard(lock_);
    known = known_[sink ? 1 : 0];
  }
  if (known.formats == formats && known.peer && caps_are_same(known.peer.get(), peer))
    return known.allowed;
  known = {GstPtr<GstCaps>::share(peer), formats,
           std::make_shared<const CapsParts>(
               upload_parts(sink ? GST_PAD_SRC : GST_PAD_SINK, peer, *formats))};
  std::shared_ptr<const CapsParts> made = known.allowed;
  const std::lock_guard guard(lock_);
  std::swap(known_[sink ? 1 : 0], known); // the old one is freed without the lock
  return made;
}

void UploadAnswers::forget()
{
  std::array<Known, 2> old;
  const std::lock_guard guard(lock_);
  std::swap(old, known_);
}

} // namespace gstdrm
