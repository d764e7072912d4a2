// SPDX-License-Identifier: LGPL-2.1-or-later
// What a pool knows of its frames, and how it gets their memory back from whoever holds it longer
// than the buffer. Never installed.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <gst/video/gstvideopool.h>
#include <gst/video/video.h> // first: gstvideodmabufpool.h of 1.28 uses types that it does not include

#include "gstdrm-private.hpp"
#include "gstdrmallocation-private.hpp"
#include "gstdrmbufferpool.h"

namespace gstdrm {

// What one configuration makes.
struct FrameSpec {
  GstPtr<GstDrmAllocator> allocator;
  GstDrmVideoInfo info = {};
  GstVideoAlignment align = {};
  bool use_align = false;
  bool default_layout = false; // GstVideoInfo's strides and offsets, for users without GstVideoMeta
  Agreed agreed;               // reconciled constraints of the configuration; may be null
  bool other_layout = false;   // that is not what the allocator makes by itself; set by the first
};

struct PooledFrame;

// Frames whose memory exists, in the pool or in anybody's hands.
struct FrameCount {
  std::atomic<guint> frames{0};
  std::atomic<guint64> bytes{0};
};

class PoolState {
public:
  GstPtr<GstDrmAllocator> allocator; // unless the configuration names another
  FrameSpec spec;                    // set while the pool is inactive
  gsize size = 0;
  std::atomic<guint64> waits{0};
  std::atomic<guint64> allocations{0};
  bool checks_frames = false;           // against what was agreed on; nobody else does
  std::atomic<bool> is_starting{false}; // the first buffers come before the pool is active

  // Made at the first use, for GObject's init function can say nothing of an exception.
  std::shared_ptr<FrameCount> alive()
  {
    const std::lock_guard lock(lock_);
    if (!alive_)
      alive_ = std::make_shared<FrameCount>();
    return alive_;
  }

  // The frame that set_config() made, until it is handed out.
  void keep_first(GstBuffer *adopted)
  {
    auto old = GstPtr<GstBuffer>::adopt(adopted);
    const std::lock_guard lock(lock_);
    std::swap(first_, old); // freed without the lock, which its memory's return takes
  }
  GstBuffer *take_first()
  {
    const std::lock_guard lock(lock_);
    return first_.release();
  }

  // Takes a buffer that came back while somebody still holds its memory: empties it, and puts it
  // into the queue as soon as the last of them lets go.
  void await_memory(const std::shared_ptr<PooledFrame> &frame, GstBuffer *adopted);
  // The last reference of the memory of this index is gone: false where nobody waits for it.
  bool memory_returned(GstBufferPool *pool, PooledFrame &frame, std::size_t index);
  // The pool stops: emptied buffers are freed, and their memory goes with its last holder.
  void forget_awaited(GstBufferPool *pool);

  void note_acquired()
  {
    const std::lock_guard lock(lock_);
    ++out_;
  }
  void note_released()
  {
    const std::lock_guard lock(lock_);
    --out_;
  }
  // Buffers that somebody has, or whose memory somebody has.
  [[nodiscard]] guint64 out()
  {
    const std::lock_guard lock(lock_);
    return out_ + awaited_.size();
  }

  // What a thread without a buffer waits for: a buffer that came back, or a flush, also a short
  // one.
  struct Seen {
    guint64 changes = 0;
    guint64 flushes = 0;
  };
  void wake(bool flush = false)
  {
    {
      const std::lock_guard lock(lock_);
      ++seen_.changes;
      seen_.flushes += flush ? 1 : 0;
    }
    changed_.notify_all();
  }
  [[nodiscard]] Seen seen()
  {
    const std::lock_guard lock(lock_);
    return seen_;
  }
  // Sleeps until there was a change since `before`; false where none came in time.
  bool sleep(const Seen &before, std::chrono::nanoseconds limit)
  {
    std::unique_lock lock(lock_);
    return changed_.wait_for(lock, limit, [&] { return seen_.changes != before.changes; });
  }

  struct ErrorDeleter {
    void operator()(GError *error) const noexcept { g_error_free(error); }
  };
  using ErrorPtr = std::unique_ptr<GError, ErrorDeleter>;
  // Why the last frame could not be made; taking it empties it.
  void set_error(const GError *error)
  {
    const std::lock_guard lock(lock_);
    error_.reset(g_error_copy(error));
  }
  [[nodiscard]] ErrorPtr take_error()
  {
    const std::lock_guard lock(lock_);
    return std::move(error_);
  }

private:
  std::mutex lock_; // guards all below; a leaf
  std::shared_ptr<FrameCount> alive_;
  GstPtr<GstBuffer> first_;
  std::vector<std::shared_ptr<PooledFrame>> awaited_;
  guint64 out_ = 0; // acquired and not yet given back
  std::condition_variable changed_;
  Seen seen_;
  ErrorPtr error_;
};

// Marks the memories of a new frame, so that they come back to the pool by themselves.
void adopt_memory(GstBufferPool *pool, GstBuffer *buffer);
// Whether what comes back is freed at once: of a pool that is not active. GstBufferPool would keep
// it until the last buffer comes back, which an application may keep for ever. Takes the pool's own
// lock.
bool is_closed(GstBufferPool *pool);
// What adopt_memory() noted of this buffer; empty where its memory is no longer the same.
std::shared_ptr<PooledFrame> pooled_frame(GstBuffer *buffer);
// Undoes the cuts (gst_buffer_resize()) of memory that nobody else holds.
void restore_sizes(GstBuffer *buffer);

// Of the pool itself (gstdrmbufferpool.cpp).
PoolState &state_of(GstBufferPool *pool);
// GstBufferPool's own functions.
GstBufferPoolClass *base_pool_class();

} // namespace gstdrm
