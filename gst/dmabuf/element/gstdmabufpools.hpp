// SPDX-License-Identifier: LGPL-2.1-or-later
// The pools of dmabufupload while they are in use: how many buffers they may make, which messages
// are posted when that is too few or memory ends, and how a wait for a buffer ends.
#pragma once

#include <memory>

#include <gst/drm/core/ordered_mutex.hpp>
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

  // The pool is upstream's own from now on; the element posts what goes wrong in it.
  void watch_offered(const GstPtr<GstBufferPool> &pool);
  // Activates the pool for copies; false where it cannot be.
  bool adopt_copy_pool(const GstPtr<GstBufferPool> &pool);
  [[nodiscard]] GstPtr<GstBufferPool> copy_pool();
  void drop_copy_pool();
  // The element stops watching upstream's pool, which stays usable.
  void leave_offered();

  // For FLUSH_START and on the way to NULL: ends every wait for a buffer, upstream's as well, and
  // refuses new ones until set_flushing(false).
  //
  // Unlike StreamWaits::acquire(), which wakes one thread from one wait: this element made both
  // pools, and any thread of upstream may wait in the offered pool at any time, unseen by this
  // element. So the pools stay flushing for as long as the flush lasts.
  void set_flushing(bool flushing);

  // A start: every message may be posted again.
  void reset_messages() noexcept;
  // A frame has left: memory that ends after it is another failure.
  void end_failure() noexcept;
  // The allocator's notice as an info message, once.
  void tell_notice(GstDrmAllocator *allocator);

private:
  const std::shared_ptr<PoolMessages> messages_; // pools may outlive the element
  // Guards all below. GstBufferPool's own locks are taken under it.
  OrderedMutex lock_{10, "UploadPools::lock_"};
  GstPtr<GstBufferPool> copy_;
  GstPtr<GstBufferPool> offered_;
  bool flushing_ = false;
};

} // namespace gstdrm
