// SPDX-License-Identifier: LGPL-2.1-or-later
// The pools of dmabufupload while they are in use: how many buffers they may make, what the user
// hears when that is too few or memory ends, and what ends a wait for one.
#pragma once

#include <memory>
#include <mutex>

#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-private.hpp>

namespace gstdrm {

// Buffers of this size that one pool may make where the user names no number: what half of the
// process's descriptors and half of the machine's memory hold, and never so few that a decoder with
// all its reference frames waits for itself. `min` is what downstream keeps, and one.
guint automatic_bound(gsize frame_bytes, guint min);

struct PoolMessages;

// One pool for the element's own copies and the last one that upstream was offered. Any thread.
class UploadPools {
public:
  explicit UploadPools(GstElement *owner);

  // Upstream's own from now on; what goes wrong in it is told on the bus of the element.
  void watch_offered(const GstPtr<GstBufferPool> &pool);
  // Activates the pool for copies; false where it cannot be.
  bool adopt_copy_pool(const GstPtr<GstBufferPool> &pool);
  [[nodiscard]] GstPtr<GstBufferPool> copy_pool();
  void drop_copy_pool();
  // The element is no longer there for upstream's pool, which is usable as before.
  void leave_offered();

  // FLUSH_START, or the way to NULL: ends every wait for a buffer, upstream's as well.
  void set_flushing(bool flushing);

  // A start: everything may be told anew.
  void reset_messages() noexcept;
  // The allocator's notice as an info message, once.
  void tell_notice(GstDrmAllocator *allocator);

private:
  const std::shared_ptr<PoolMessages> messages_; // pools may outlive the element
  std::mutex lock_;                              // guards all below; before GstBufferPool's own
  GstPtr<GstBufferPool> copy_;
  GstPtr<GstBufferPool> offered_;
  bool flushing_ = false;
};

} // namespace gstdrm
