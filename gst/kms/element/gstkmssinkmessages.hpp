// SPDX-License-Identifier: LGPL-2.1-or-later
// What kmsdmabufsink sends while GStreamer's preroll lock is held, messages and RECONFIGURE: it is
// kept until the lock is let go, so that an application's synchronous bus handler, and whoever
// handles the event upstream, finds no lock in its way.
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
  struct Kept {
    std::vector<GstPtr<GstMessage>> messages;
    bool asks_for_choice = false; // upstream is to be sent RECONFIGURE
  };
  // From begin() to end() what the present thread sends is kept. One thread at a time, which
  // the preroll lock sees to; not nested.
  void begin() noexcept { holder_ = std::this_thread::get_id(); }
  // (transfer full) What was kept, in order.
  [[nodiscard]] Kept end() noexcept
  {
    holder_ = std::thread::id();
    return std::exchange(kept_, {});
  }
  // Takes the message where it is one to keep. Returns false if it is to be posted now. Any thread.
  bool keep(GstMessage *message)
  {
    if (holder_ != std::this_thread::get_id())
      return false;
    kept_.messages.push_back(GstPtr<GstMessage>::adopt(message));
    return true;
  }
  // The same for RECONFIGURE. Any thread.
  bool keep_choice() noexcept
  {
    if (holder_ != std::this_thread::get_id())
      return false;
    kept_.asks_for_choice = true;
    return true;
  }

private:
  std::atomic<std::thread::id> holder_{std::thread::id()};
  Kept kept_; // the holder's
};

} // namespace gstdrm
