// SPDX-License-Identifier: LGPL-2.1-or-later
// What the two halves of GstDrmBufferPool share: gstdrmbufferpool.cpp makes buffers,
// gstdrmbufferpool-recycle.cpp hands them out and takes them back. Never installed.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include <gst/video/gstvideopool.h>

#include "gstdrm-private.hpp"
#include "gstdrmbufferpool.h"

namespace gstdrm {

// What one configuration makes.
struct FrameSpec {
  GstPtr<GstDrmAllocator> allocator;
  GstDrmVideoInfo info = {};
  GstVideoAlignment align = {};
  bool use_align = false;
  bool default_layout = false; // GstVideoInfo's strides and offsets, for users without GstVideoMeta
};

class PoolState {
public:
  GstPtr<GstDrmAllocator> allocator; // unless the configuration names another
  FrameSpec spec;                    // set while the pool is inactive
  gsize size = 0;
  std::atomic<guint64> waits{0};

  // The frame that set_config() made, until it is handed out.
  void keep_first(GstBuffer *adopted)
  {
    const std::lock_guard lock(buffers_lock_);
    first_.reset(adopted);
  }
  GstBuffer *take_first()
  {
    const std::lock_guard lock(buffers_lock_);
    return first_.release();
  }

  // Keeps a buffer whose memory somebody else still holds; false: not now.
  bool park(GstBuffer *adopted) noexcept;
  std::vector<GstBuffer *> take_parked()
  {
    const std::lock_guard lock(buffers_lock_);
    return std::exchange(parked_, {});
  }
  // While a thread sleeps until a buffer comes back, none is parked: parking wakes nobody.
  void add_sleeper(int by)
  {
    const std::lock_guard lock(buffers_lock_);
    sleepers_ += by;
  }

private:
  std::mutex buffers_lock_; // guards all below; a leaf
  GstPtr<GstBuffer> first_;
  std::vector<GstBuffer *> parked_; // owned
  int sleepers_ = 0;
};

// GstBufferPoolClass's functions of the same names.
GstFlowReturn pool_acquire_buffer(GstBufferPool *pool, GstBuffer **buffer,
                                  GstBufferPoolAcquireParams *params) noexcept;
void pool_reset_buffer(GstBufferPool *pool, GstBuffer *buffer) noexcept;
void pool_release_buffer(GstBufferPool *pool, GstBuffer *buffer) noexcept;
gboolean pool_start(GstBufferPool *pool) noexcept;
gboolean pool_stop(GstBufferPool *pool) noexcept;

PoolState &state_of(GstBufferPool *pool);
// GstBufferPool's own functions.
GstBufferPoolClass *base_pool_class();

} // namespace gstdrm
