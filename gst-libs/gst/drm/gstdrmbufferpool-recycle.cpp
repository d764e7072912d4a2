// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/unique_fd.hpp"
#include "gstdrm-guard-private.hpp"
#include "gstdrmallocator-private.hpp"
#include "gstdrmbufferpool-private.hpp"
#include "gstdrmsync.h"

#define GST_CAT_DEFAULT gstdrm::allocator_debug_category()

namespace gstdrm {

namespace {

// A fence is waited for in steps, so that the others and a flush are seen, and not for ever: one
// that has not signalled by then belongs to a device that hangs.
constexpr GstClockTime kWaitStep = 5 * GST_MSECOND;
constexpr GstClockTime kWaitLimit = 1 * GST_SECOND;
// Buffers looked at before one is waited for; with them the pool grows no further.
constexpr std::size_t kMostPending = 8;
constexpr std::size_t kMostParked = 8;

// -1: none, or none that is still pending
UniqueFd pending_fence(GstBuffer *buffer)
{
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  UniqueFd fence(meta ? gst_drm_sync_meta_dup_release_fence(meta) : -1);
  GstDrmFenceState fence_state = GST_DRM_FENCE_STATE_SIGNALLED;
  if (fence && gst_drm_fence_get_state(fence.get(), &fence_state, nullptr) &&
      fence_state == GST_DRM_FENCE_STATE_PENDING)
    return fence;
  return {};
}

// Buffers taken off the queue while their readers are not done; the rest goes back at the end.
class Pending {
public:
  explicit Pending(GstBufferPool *pool) : pool_(pool) { buffers_.reserve(kMostPending); }
  Pending(const Pending &) = delete;
  Pending &operator=(const Pending &) = delete;
  ~Pending()
  {
    for (GstBuffer *buffer : buffers_)
      base_pool_class()->release_buffer(pool_, buffer);
  }

  [[nodiscard]] bool empty() const { return buffers_.empty(); }
  [[nodiscard]] bool full() const { return buffers_.size() >= kMostPending; }
  void add(GstBuffer *buffer) { buffers_.push_back(buffer); }

  // The first whose fence has signalled.
  GstBuffer *take_ready()
  {
    for (auto it = buffers_.begin(); it != buffers_.end(); ++it) {
      GstBuffer *buffer = *it;
      if (pending_fence(buffer))
        continue;
      buffers_.erase(it);
      return buffer;
    }
    return nullptr;
  }

  // Sleeps until the oldest fence signals, one step long at most.
  void sleep() const
  {
    if (const UniqueFd fence = pending_fence(buffers_.front()))
      gst_drm_fence_wait(fence.get(), kWaitStep, nullptr, nullptr);
  }

  // A device hangs on these: the pool gives them up and may make new ones.
  void discard()
  {
    for (GstBuffer *buffer : buffers_)
      GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_TAG_MEMORY); // GstBufferPool frees such a buffer
  }

private:
  GstBufferPool *pool_;
  std::vector<GstBuffer *> buffers_; // owned
};

// Waits for one of `pending`. EOS: none within the limit, and they were discarded.
GstFlowReturn wait_for_one(GstBufferPool *pool, Pending &pending, GstBuffer **buffer)
{
  PoolState &state = state_of(pool);
  state.waits.fetch_add(1, std::memory_order_relaxed);
  GST_LOG_OBJECT(pool, "every buffer is still being read, waiting for a release fence");
  const gint64 limit = g_get_monotonic_time() + static_cast<gint64>(kWaitLimit / GST_USECOND);
  while (!(*buffer = pending.take_ready())) {
    if (GST_BUFFER_POOL_IS_FLUSHING(pool))
      return GST_FLOW_FLUSHING;
    if (g_get_monotonic_time() > limit) {
      GST_WARNING_OBJECT(pool,
                         "no release fence signalled within %" GST_TIME_FORMAT
                         ": a reader hangs; its buffers are given up",
                         GST_TIME_ARGS(kWaitLimit));
      pending.discard();
      return GST_FLOW_EOS;
    }
    pending.sleep();
  }
  return GST_FLOW_OK;
}

// A buffer whose readers are done, without sleeping on the queue. EOS: there is none to be had.
GstFlowReturn acquire_ready(GstBufferPool *pool, GstBuffer **buffer,
                            const GstBufferPoolAcquireParams &params, bool may_wait)
{
  GstBufferPoolAcquireParams no_wait = params;
  no_wait.flags =
      static_cast<GstBufferPoolAcquireFlags>(no_wait.flags | GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT);
  Pending pending(pool);
  GstFlowReturn flow = GST_FLOW_OK;
  while (!pending.full()) {
    GstBuffer *candidate = nullptr;
    flow = base_pool_class()->acquire_buffer(pool, &candidate, &no_wait);
    if (flow != GST_FLOW_OK)
      break;
    if (!pending_fence(candidate)) {
      *buffer = candidate;
      return GST_FLOW_OK;
    }
    pending.add(candidate);
  }
  if (flow != GST_FLOW_OK && flow != GST_FLOW_EOS)
    return flow;
  if (pending.empty() || !may_wait)
    return GST_FLOW_EOS;
  return wait_for_one(pool, pending, buffer);
}

// Undoes a consumer's cuts (gst_buffer_resize()) memory by memory; GstBufferPool thinks of one
// only.
void restore_sizes(GstBuffer *buffer)
{
  const guint n = gst_buffer_n_memory(buffer);
  for (guint i = 0; i < n; ++i) {
    GstMemory *memory = gst_buffer_peek_memory(buffer, i);
    if (memory->parent == nullptr && gst_memory_is_writable(memory))
      gst_memory_resize(memory, -static_cast<gssize>(memory->offset), memory->maxsize);
  }
}

enum class Parked { Ready, All };

// Gives parked buffers back to the queue, those whose memory is theirs alone again or all:
// GstBufferPool frees one whose memory is not. True: something changed.
bool return_parked(GstBufferPool *pool, Parked which)
{
  bool any = false;
  for (GstBuffer *buffer : state_of(pool).take_parked()) {
    const bool ready = gst_buffer_is_all_memory_writable(buffer);
    if (!ready && which == Parked::Ready && state_of(pool).park(buffer))
      continue;
    if (ready)
      restore_sizes(buffer);
    base_pool_class()->release_buffer(pool, buffer);
    any = true;
  }
  return any;
}

// A thread about to sleep on GstBufferPool's queue.
class Sleeper {
public:
  explicit Sleeper(GstBufferPool *pool) : pool_(pool)
  {
    state_of(pool).add_sleeper(1);
    return_parked(pool, Parked::All);
  }
  Sleeper(const Sleeper &) = delete;
  Sleeper &operator=(const Sleeper &) = delete;
  ~Sleeper() { state_of(pool_).add_sleeper(-1); }

private:
  GstBufferPool *pool_;
};

// All are out: sleeps until one comes back. It may come with a fence.
GstFlowReturn sleep_for_one(GstBufferPool *pool, GstBuffer **buffer,
                            GstBufferPoolAcquireParams params)
{
  Pending pending(pool); // before there is a buffer to lose
  GstBuffer *returned = nullptr;
  {
    const Sleeper sleeper(pool);
    const GstFlowReturn flow = base_pool_class()->acquire_buffer(pool, &returned, &params);
    if (flow != GST_FLOW_OK)
      return flow;
  }
  pending.add(returned);
  *buffer = pending.take_ready();
  return *buffer ? GST_FLOW_OK : wait_for_one(pool, pending, buffer);
}

} // namespace

// The last copy of a buffer gives the buffer back before it lets its memory go (gst_buffer_copy()
// keeps the original by a GstParentBufferMeta, and metas are freed first). GstBufferPool would free
// the buffer then, and with it the dma-buf that every device has imported.
bool PoolState::park(GstBuffer *adopted) noexcept
try {
  const std::lock_guard lock(buffers_lock_);
  if (sleepers_ > 0 || parked_.size() >= kMostParked)
    return false;
  parked_.push_back(adopted);
  return true;
} catch (...) {
  return caught(false, __func__);
}

GstFlowReturn pool_acquire_buffer(GstBufferPool *pool, GstBuffer **buffer,
                                  GstBufferPoolAcquireParams *params) noexcept
try {
  static const GstBufferPoolAcquireParams kDefaults = {};
  const GstBufferPoolAcquireParams asked = params ? *params : kDefaults;
  const bool may_wait = (asked.flags & GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT) == 0;
  return_parked(pool, Parked::Ready);
  GstFlowReturn flow = acquire_ready(pool, buffer, asked, may_wait);
  if (flow == GST_FLOW_EOS && return_parked(pool, Parked::All))
    flow = acquire_ready(pool, buffer, asked, may_wait);
  while (flow == GST_FLOW_EOS && may_wait)
    flow = sleep_for_one(pool, buffer, asked);
  if (flow == GST_FLOW_OK)
    if (GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(*buffer))
      gst_drm_sync_meta_clear(meta);
  return flow;
} catch (...) {
  return gstdrm::caught(GST_FLOW_ERROR, __func__);
}

// What producers and consumers left on the buffer goes; the release fence stays until it is
// acquired.
void pool_reset_buffer(GstBufferPool *pool, GstBuffer *buffer) noexcept
try {
  restore_sizes(buffer);
  base_pool_class()->reset_buffer(pool, buffer);
  if (GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer)) {
    UniqueFd release(gst_drm_sync_meta_dup_release_fence(meta));
    gst_drm_sync_meta_clear(meta);
    if (release)
      gst_drm_sync_meta_add_release_fence(meta, release.release(), nullptr);
  }
} catch (...) {
  gstdrm::caught(__func__);
}

void pool_release_buffer(GstBufferPool *pool, GstBuffer *buffer) noexcept
{
  const bool intact = !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_TAG_MEMORY);
  if (intact && !gst_buffer_is_all_memory_writable(buffer) && state_of(pool).park(buffer))
    return;
  base_pool_class()->release_buffer(pool, buffer);
}

// GstBufferPool's own start, when it cannot make all of its first buffers, leaves those it made in
// the queue, where nobody frees them (gstbufferpool.c, default_start()).
gboolean pool_start(GstBufferPool *pool) noexcept
{
  if (base_pool_class()->start(pool))
    return TRUE;
  pool_stop(pool);
  return FALSE;
}

gboolean pool_stop(GstBufferPool *pool) noexcept
{
  state_of(pool).keep_first(nullptr);
  return_parked(pool, Parked::All);
  return base_pool_class()->stop(pool);
}

} // namespace gstdrm
