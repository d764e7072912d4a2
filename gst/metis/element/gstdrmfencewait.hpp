// SPDX-License-Identifier: LGPL-2.1-or-later
// The wait of a streaming thread for a fence, which a flush ends.
#pragma once

#include <gst/drm/core/result.hpp>
#include <gst/drm/core/wake_fd.hpp>
#include <gst/drm/element/stats.hpp>

namespace gstdrm {

enum class FenceEnd { Signalled, Failed, Interrupted };

// Owned by one element.
class FenceWait {
public:
  // Before the streaming thread starts.
  Result<void> open();
  // Any thread: the streaming thread leaves its wait, and waits no more until allow().
  void end() const noexcept { wake_.wake(); }
  void allow() const noexcept { wake_.drain(); }

  // Streaming thread: waits for 5 seconds at most; -1 is no fence. A fence that has to be waited
  // for counts. Error of code Sync: `what` ("the tensors") did not get ready.
  Result<FenceEnd> wait(int fence_fd, const char *what, Stats &stats) const;

private:
  WakeFd wake_;
};

} // namespace gstdrm
