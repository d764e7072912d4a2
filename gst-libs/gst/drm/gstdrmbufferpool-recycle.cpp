// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <array>
#include <chrono>

#include "core/unique_fd.hpp"
#include "gstdrm-guard-private.hpp"
#include "gstdrmallocator-private.hpp"
#include "gstdrmbufferpool-private.hpp"
#include "gstdrmsync-private.hpp"

#define GST_CAT_DEFAULT gstdrm::allocator_debug_category()

namespace gstdrm {

namespace {

// Waits for a fence are divided into steps, so that other fences and a flush are noticed in
// between. The sum is limited: a fence that has not signalled by then belongs to a device that
// hangs.
constexpr GstClockTime kWaitStep = 5 * GST_MSECOND;
constexpr GstClockTime kWaitLimit = 1 * GST_SECOND;
// Buffers looked at before one is waited for; with them the pool grows no further.
constexpr std::size_t kMostPending = 8;
// A longer wait is no longer normal back pressure: some element keeps the buffers.
constexpr std::chrono::seconds kTellAfter{1};

// Puts the buffer into the base class's queue, and wakes threads that wait for one.
void give_back(GstBufferPool *pool, GstBuffer *buffer)
{
  if (is_closed(pool))
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_TAG_MEMORY); // GstBufferPool frees such a buffer
  base_pool_class()->release_buffer(pool, buffer);
  state_of(pool).wake();
}

bool is_pending(GstBuffer *buffer)
{
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  return meta && awaits_release(meta);
}

// Buffers that were taken from the queue while their release fences are pending. Those that are not
// taken by take_ready() go back into the queue at the end.
class Pending {
public:
  explicit Pending(GstBufferPool *pool) : pool_(pool) {}
  Pending(const Pending &) = delete;
  Pending &operator=(const Pending &) = delete;
  ~Pending()
  {
    for (std::size_t i = 0; i < count_; ++i)
      give_back(pool_, buffers_[i]);
  }

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] bool full() const { return count_ == buffers_.size(); }
  void add(GstBuffer *buffer) { buffers_.at(count_++) = buffer; }

  // The first whose fence has signalled.
  GstBuffer *take_ready()
  {
    const auto end = buffers_.begin() + count_;
    const auto ready = std::find_if_not(buffers_.begin(), end, is_pending);
    if (ready == end)
      return nullptr;
    GstBuffer *buffer = *ready;
    std::move(ready + 1, end, ready); // in the order of the queue
    --count_;
    return buffer;
  }

  // Sleeps until the oldest fence signals, one step long at most.
  void sleep() const
  {
    GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffers_.front());
    const UniqueFd fence(meta ? gst_drm_sync_meta_dup_release_fence(meta) : -1);
    if (fence)
      gst_drm_fence_wait(fence.get(), kWaitStep, nullptr, nullptr);
    else // it has just signalled, or there is no descriptor for it
      g_usleep(kWaitStep / GST_USECOND);
  }

  // The readers' device hangs: GstBufferPool frees these buffers, and the pool may make new ones.
  void discard()
  {
    for (std::size_t i = 0; i < count_; ++i) // GstBufferPool frees such a buffer
      GST_BUFFER_FLAG_SET(buffers_[i], GST_BUFFER_FLAG_TAG_MEMORY);
  }

private:
  GstBufferPool *pool_;
  std::array<GstBuffer *, kMostPending> buffers_{}; // owned, the first count_
  std::size_t count_ = 0;
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

// Takes a buffer whose readers are done from the queue, without waiting. EOS: there is none.
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
    if (!is_pending(candidate)) {
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

// Every buffer is in use: waits without limit, and emits a signal once after kTellAfter.
GstFlowReturn wait_for_return(GstBufferPool *pool, GstBuffer **buffer,
                              const GstBufferPoolAcquireParams &params)
{
  PoolState &state = state_of(pool);
  const PoolState::Seen start = state.seen();
  const auto tell_at = std::chrono::steady_clock::now() + kTellAfter;
  bool told = false;
  while (true) {
    const PoolState::Seen before = state.seen(); // before looking, or what comes back now is missed
    if (before.flushes != start.flushes)         // also one that is over
      return GST_FLOW_FLUSHING;
    const GstFlowReturn flow = acquire_ready(pool, buffer, params, true);
    if (flow != GST_FLOW_EOS)
      return flow;
    // After the message is sent, no timed wake-up is needed.
    const std::chrono::nanoseconds step = told ? std::chrono::hours(24) : kTellAfter;
    if (!state.sleep(before, step) && !told && std::chrono::steady_clock::now() >= tell_at) {
      told = true;
      emit_exhausted(pool);
    }
  }
}

} // namespace

bool is_closed(GstBufferPool *pool)
{
  return GST_BUFFER_POOL_IS_FLUSHING(pool) && !state_of(pool).is_starting &&
         !gst_buffer_pool_is_active(pool);
}

GstFlowReturn pool_acquire_buffer(GstBufferPool *pool, GstBuffer **buffer,
                                  GstBufferPoolAcquireParams *params)
{
  static const GstBufferPoolAcquireParams kDefaults = {};
  const GstBufferPoolAcquireParams asked = params ? *params : kDefaults;
  const bool may_wait = (asked.flags & GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT) == 0;
  PoolState &state = state_of(pool);
  GstFlowReturn flow = acquire_ready(pool, buffer, asked, may_wait);
  if (flow == GST_FLOW_EOS && may_wait)
    flow = wait_for_return(pool, buffer, asked);
  if (flow == GST_FLOW_OK) {
    state.note_acquired();
    if (GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(*buffer))
      gst_drm_sync_meta_clear(meta);
  } else if (flow == GST_FLOW_ERROR) {
    state.wake(); // another thread may now make the buffer that could not be made here
    if (const auto error = state.take_error())
      emit_allocation_failed(pool, error.get());
  }
  return flow;
}

// Removes what producers and consumers left on the buffer, except for the release fence, which
// stays until the buffer is acquired.
void pool_reset_buffer(GstBufferPool *pool, GstBuffer *buffer)
{
  const bool intact = !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_TAG_MEMORY);
  restore_sizes(buffer);
  // GstBufferPool would replace memory that it cannot resize by a part of it.
  const bool hide = intact && !gst_buffer_is_all_memory_writable(buffer);
  if (hide)
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_TAG_MEMORY);
  base_pool_class()->reset_buffer(pool, buffer);
  if (hide)
    GST_BUFFER_FLAG_UNSET(buffer, GST_BUFFER_FLAG_TAG_MEMORY);
  if (GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer))
    drop_acquire_fences(meta);
  state_of(pool).note_released();
}

void pool_release_buffer(GstBufferPool *pool, GstBuffer *buffer)
{
  const bool intact = !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_TAG_MEMORY);
  if (intact && !gst_buffer_is_all_memory_writable(buffer)) {
    if (const auto frame = pooled_frame(buffer)) {
      state_of(pool).await_memory(frame, buffer);
      return;
    }
  }
  give_back(pool, buffer);
}

void pool_flush_start(GstBufferPool *pool) noexcept
{
  state_of(pool).wake(true);
}

// GstBufferPool's own start, when it cannot make all of its first buffers, leaves those it made in
// the queue, where nobody frees them (gstbufferpool.c, default_start()).
gboolean pool_start(GstBufferPool *pool) noexcept
{
  std::atomic<bool> &is_starting = state_of(pool).is_starting;
  is_starting = true;
  const gboolean started = base_pool_class()->start(pool);
  is_starting = false;
  if (started)
    return TRUE;
  pool_stop(pool);
  return FALSE;
}

gboolean pool_stop(GstBufferPool *pool) noexcept
{
  state_of(pool).keep_first(nullptr);
  state_of(pool).forget_awaited(pool);
  return base_pool_class()->stop(pool);
}

} // namespace gstdrm
