// SPDX-License-Identifier: LGPL-2.1-or-later
// What ends the waits of a streaming thread.
#pragma once

#include <gst/drm/core/device_wait.hpp>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/gstdrm-private.hpp>

namespace gstdrm {

// The waits of one element's streaming thread, for fences and for a free buffer. Owned by the
// element; end() and allow() from any thread, acquire() from the streaming thread.
class StreamWaits {
public:
  // The streaming thread leaves whatever it waits for, at once, and waits for nothing until
  // allow(): the sink pad is flushing or inactive.
  void end();
  void allow() { interrupt_.clear(); }
  // For waits of the streaming thread that see a descriptor.
  [[nodiscard]] const Interrupt &interrupt() const noexcept { return interrupt_; }

  // A free buffer of an active pool; FLUSHING, without a message, where the wait for it was ended.
  //
  // Unlike UploadAllocation::set_flushing(), which leaves its pools flushing until the flush ends:
  // the pool here may be one that downstream made and that downstream's other users wait in. So
  // end() sets the pool to flushing only while the streaming thread sleeps in the pool, and the
  // streaming thread clears that when it wakes.
  GstFlowReturn acquire(GstBufferPool *pool, GstPtr<GstBuffer> &buffer);

private:
  Interrupt interrupt_;
  // Guards the two below. GstBufferPool's own locks are taken under it.
  OrderedMutex lock_{10, "StreamWaits::lock_"};
  GstPtr<GstBufferPool> awaited_; // the streaming thread sleeps in it
  bool woken_ = false;            // by a flush of that pool, which the streaming thread has to end
};

} // namespace gstdrm
