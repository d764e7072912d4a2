// SPDX-License-Identifier: LGPL-2.1-or-later
// How an element sets up a GstDrmBufferPool, waits for its buffers, and lets go of it.
#pragma once

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmallocator.h>
#include <gst/drm/gstdrmconstraints.h>

namespace gstdrm {

struct PoolSetup {
  GstCaps *caps;          // DMA_DRM, or plain ones for linear frames
  guint min_buffers = 0;  // allocated when the pool is activated
  guint max_buffers = 0;  // Returns 0 if there is no limit
  bool video_meta = true; // whoever reads the buffers knows GstVideoMeta, so rows may be padded
  guint least_size = 0;   // bytes; buffers that are smaller are refused
  // What was agreed on; null: as the allocator likes. Left alone without video_meta.
  const GstDrmConstraints *constraints = nullptr;
};

struct ConfiguredPool {
  GstPtr<GstBufferPool> pool; // inactive
  guint size;                 // bytes of each buffer, as the allocator pads it
};

// GStreamer's buffer pools have descriptors of their own (GstPoll), and no error for their lack:
// such a pool logs criticals for as long as it lives. Asked before each gst_*_buffer_pool_new().
// Error of code Allocation with its errno.
Result<void> room_for_pool();

// Frames of so many bytes that half of the machine's memory has room for; G_MAXUINT64 where that is
// not known.
guint64 frames_in_half_of_memory(gsize frame_bytes);

// Error of code Allocation where the allocator makes no such buffers, and the pool logs the reason;
// or where there is no room_for_pool().
Result<ConfiguredPool> configure_pool(GstDrmAllocator *allocator, const PoolSetup &setup);

// Deactivates a pool that nobody uses again, and lets go of it; nothing where there is none. What
// is in use stays valid. The rest is freed now: GstBufferPool itself would keep it until the last
// buffer comes back, so that one sample that an application keeps keeps all frames.
void close_pool(GstPtr<GstBufferPool> &pool);

// The same, without the lock that guards `kept`: threads that wait for a buffer may need that lock.
void drop_pool(OrderedMutex &lock, GstPtr<GstBufferPool> &kept);

// The active pool of an element. keep(), drop() and acquire() are the streaming thread's, the rest
// is any thread's.
class ActivePool {
public:
  ActivePool() = default;
  ActivePool(const ActivePool &) = delete;
  ActivePool &operator=(const ActivePool &) = delete;
  ~ActivePool() { drop(); }

  // Takes the place of the last one.
  void keep(GstPtr<GstBufferPool> active);
  // Buffers that are in use stay valid.
  void drop();
  // GST_FLOW_FLUSHING without a pool.
  GstFlowReturn acquire(GstPtr<GstBuffer> &buffer);
  // GST_FLOW_EOS where acquire() would wait.
  GstFlowReturn acquire_now(GstPtr<GstBuffer> &buffer);

  [[nodiscard]] GstPtr<GstBufferPool> get() const;
  // Ends a wait for a buffer, and refuses those that begin later, until it is cleared.
  void set_flushing(bool flushing);

private:
  GstFlowReturn acquire(GstPtr<GstBuffer> &buffer, GstBufferPoolAcquireParams *params);

  // GstBufferPool's own locks are taken under it.
  mutable OrderedMutex lock_{10, "ActivePool::lock_"};
  GstPtr<GstBufferPool> pool_;
  bool flushing_ = false;
};

} // namespace gstdrm
