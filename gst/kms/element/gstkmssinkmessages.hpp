// SPDX-License-Identifier: LGPL-2.1-or-later
// Messages that kmsdmabufsink posts while GStreamer's preroll lock is held: they are kept until it
// is let go, so that an application's synchronous bus handler finds no lock in its way.
#pragma once

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>

namespace gstdrm {

class HeldMessages {
public:
  // From begin() to end() the messages of the present thread are kept. One thread at a time, which
  // the preroll lock sees to; not nested.
  void begin() noexcept { holder_ = std::this_thread::get_id(); }
  // (transfer full) What was kept, in order.
  [[nodiscard]] std::vector<GstPtr<GstMessage>> end() noexcept
  {
    holder_ = std::thread::id();
    return std::exchange(messages_, {});
  }
  // Takes the message where it is one to keep. false: it is to be posted now. Any thread.
  bool keep(GstMessage *message)
  {
    if (holder_ != std::this_thread::get_id())
      return false;
    messages_.push_back(GstPtr<GstMessage>::adopt(message));
    return true;
  }

private:
  std::atomic<std::thread::id> holder_{std::thread::id()};
  std::vector<GstPtr<GstMessage>> messages_; // the holder's
};

} // namespace gstdrm
