// SPDX-License-Identifier: LGPL-2.1-or-later
// Answers to caps queries, remembered: upstream asks the same many times while it negotiates, and a
// GPU's list has hundreds of pairs.
#pragma once

#include <array>
#include <memory>

#include <gst/drm/core/ordered_mutex.hpp>

#include "gsteglcaps.hpp"

namespace gstdrm {

// What a pad can have, without a filter, from what the other pad's peer answers. It depends on that
// and on the formats alone, which are the key: nothing that is remembered can be out of date. Any
// thread.
class UploadAnswers {
public:
  // For the pad in `direction`.
  std::shared_ptr<const CapsParts> allowed(GstPadDirection direction, GstCaps *peer,
                                           const std::shared_ptr<const UploadFormats> &formats);
  // Lets go of all that is remembered.
  void forget();

private:
  struct Known {
    GstPtr<GstCaps> peer;
    std::shared_ptr<const UploadFormats> formats;
    std::shared_ptr<const CapsParts> allowed;
  };
  // Guards known_; nothing is called out of the element under it.
  OrderedMutex lock_{kLeafLockRank, "UploadAnswers::lock_"};
  std::array<Known, 2> known_;
};

} // namespace gstdrm
