// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:gstdrmbufferpool
 * @title: GstDrmBufferPool
 * @short_description: recycled frames of a #GstDrmAllocator
 *
 * A pool that is configured with DMA_DRM caps makes frames of the pair in the caps; with plain
 * `video/x-raw` caps it makes linear frames, for elements that know nothing of DMA_DRM, such as a
 * decoder that writes into the pool it is offered.
 *
 * Setting the configuration allocates the first frame, to learn its layout: the size and, with
 * %GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT, the alignment in the configuration are then those of
 * that frame. With plain caps and without %GST_BUFFER_POOL_OPTION_VIDEO_META frames have
 * GStreamer's default layout, because such a user does not read the meta.
 *
 * Every buffer carries a #GstVideoMeta and a #GstDrmSyncMeta. A buffer whose release fence has not
 * signalled is not handed out: the pool hands out another buffer, or waits for a fence. Acquire
 * fences are dropped when a buffer comes back. The pool waits for fences for one second at most;
 * after that it frees the buffers whose fences are pending, and allocates new ones.
 *
 * A buffer whose memory is still referenced elsewhere when it comes back (a shallow copy, a
 * sub-buffer) is handed out again when the last of these references is dropped. Until then the
 * buffer counts as in use, so a maximum in the configuration bounds the memory.
 *
 * gst_drm_buffer_pool_new_for_constraints() makes a pool of buffers as their accessors agreed on:
 * pictures, and also raw memory, tensors, arrays and pyramids.
 */
#include "gstdrmbufferpool.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

#include "core/unique_fd.hpp"
#include "gstdrm-guard-private.hpp"
#include "gstdrmallocation-private.hpp"
#include "gstdrmallocator-buffer.hpp"
#include "gstdrmallocator-private.hpp"
#include "gstdrmpoolstate.hpp"
#include "gstdrmsync-private.hpp"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gstdrm::allocator_debug_category()

using gstdrm::FrameCount;
using gstdrm::FrameSpec;
using gstdrm::GstPtr;
using gstdrm::PoolState;

struct _GstDrmBufferPool {
  GstBufferPool parent;
  PoolState state; // constructed in init, destroyed in finalize
};

enum { SIGNAL_EXHAUSTED, SIGNAL_ALLOCATION_FAILED, N_SIGNALS };
static guint pool_signals[N_SIGNALS];

G_DEFINE_TYPE(GstDrmBufferPool, gst_drm_buffer_pool, GST_TYPE_BUFFER_POOL)

gstdrm::PoolState &gstdrm::state_of(GstBufferPool *pool)
{
  return GST_DRM_BUFFER_POOL(pool)->state;
}

GstBufferPoolClass *gstdrm::base_pool_class()
{
  return GST_BUFFER_POOL_CLASS(gst_drm_buffer_pool_parent_class);
}

bool gstdrm::is_closed(GstBufferPool *pool)
{
  return GST_BUFFER_POOL_IS_FLUSHING(pool) && !state_of(pool).is_starting &&
         !gst_buffer_pool_is_active(pool);
}

namespace {

bool has_default_layout(const GstVideoMeta *meta, const GstVideoInfo &info)
{
  if (meta->n_planes != GST_VIDEO_INFO_N_PLANES(&info))
    return false;
  for (guint i = 0; i < meta->n_planes; ++i)
    if (meta->offset[i] != info.offset[i] || meta->stride[i] != info.stride[i])
      return false;
  return true;
}

// Allocators of this library say why they fail, and others only that they do.
GstMemory *alloc_bytes(GstDrmAllocator *allocator, const GstVideoInfo &info, GError **error)
{
  if (gstdrm::makes_bytes(allocator)) {
    auto object = gstdrm::allocate_bytes(allocator, info.size);
    if (!object) {
      gstdrm::propagate(error, object.error());
      return nullptr;
    }
    GstMemory *memory =
        gst_dmabuf_allocator_alloc_with_flags(GST_ALLOCATOR(allocator), object->fd.release(),
                                              object->size_bytes, GST_FD_MEMORY_FLAG_KEEP_MAPPED);
    gst_memory_resize(memory, 0, info.size);
    return memory;
  }
  GstMemory *memory = nullptr;
  if (!GST_OBJECT_FLAG_IS_SET(allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC))
    memory = gst_allocator_alloc(GST_ALLOCATOR(allocator), info.size, nullptr);
  if (!memory)
    g_set_error(error, GST_DRM_ERROR, GST_DRM_ERROR_ALLOCATION,
                "%s cannot make GStreamer's default layout of %s %dx%d; the user of the pool has "
                "to support GstVideoMeta, or use udmabuf or dma-heap",
                GST_OBJECT_NAME(allocator), GST_VIDEO_INFO_NAME(&info), GST_VIDEO_INFO_WIDTH(&info),
                GST_VIDEO_INFO_HEIGHT(&info));
  return memory;
}

// One memory with planes where GstVideoInfo has them.
GstBuffer *alloc_default_layout(const FrameSpec &spec, GError **error)
{
  GstVideoInfo info = spec.info.vinfo; // a copy: 1.22 takes offsets and strides without const
  GstMemory *memory = alloc_bytes(spec.allocator.get(), info, error);
  if (!memory)
    return nullptr;
  GstBuffer *buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, memory);
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info)),
                                 static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info)),
                                 GST_VIDEO_INFO_N_PLANES(&info), info.offset, info.stride);
  return buffer;
}

// As was agreed on.
GstBuffer *alloc_agreed(const FrameSpec &spec, const gstdrm::Format *pair,
                        const GstVideoAlignment *align, GError **error)
{
  auto made = gstdrm::allocate_agreed(spec.allocator.get(), spec.agreed, pair, align);
  if (made)
    return made->release();
  gstdrm::propagate(error, made.error());
  return nullptr;
}

GstBuffer *alloc_aligned(const FrameSpec &spec, const GstVideoAlignment *align, GError **error)
{
  if (spec.agreed) {
    const gstdrm::Format pair{spec.info.drm_fourcc, spec.info.drm_modifier};
    return alloc_agreed(spec, &pair, align, error);
  }
  GstVideoAlignment asked;
  if (align)
    asked = *align;
  const GstDrmVideoInfo &info = spec.info;
  return gst_drm_allocator_alloc_frame(
      spec.allocator.get(), info.drm_fourcc, static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info.vinfo)),
      static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info.vinfo)), &info.drm_modifier, 1,
      align ? &asked : nullptr, nullptr, error);
}

// GStreamer's frames of some sizes have rows that no device reads: fields of an interlaced picture
// have whole rows of chroma each, heights are rounded up to 2 or 4 (gstvideoinfo.c, fill_planes()).
// An element that writes with the CPU asks for that size and may write into those rows.
GstBuffer *alloc_with_spare_rows(const FrameSpec &spec, GstBuffer *adopted)
{
  constexpr guint kMostRows = 8; // two fields of a chroma row for four lines
  const GstVideoInfo &vinfo = spec.info.vinfo;
  const guint over = static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&vinfo)) % kMostRows;
  const bool fields = GST_VIDEO_INFO_IS_INTERLACED(&vinfo);
  if (over == 0 || (!fields && gst_buffer_get_size(adopted) >= GST_VIDEO_INFO_SIZE(&vinfo)))
    return adopted;
  GstVideoAlignment align = spec.align;
  align.padding_bottom = MAX(align.padding_bottom, kMostRows - over);
  GstBuffer *larger = alloc_aligned(spec, &align, nullptr);
  if (!larger)
    return adopted; // dumb and GBM buffers have the rows that their device wants
  gst_buffer_unref(adopted);
  return larger;
}

// Leaves out what is behind the last row: memory comes in whole pages. A filesink would write it,
// and VIDIOC_QBUF refuses more bytes than the device's sizeimage (videobuf2-v4l2.c,
// __verify_length()). Sizes that were agreed on stay, and so do the rows that a decoder asked for.
void cut_to_rows(const FrameSpec &spec, GstBuffer *buffer)
{
  const GstDrmVideoInfo &info = spec.info;
  const gsize least = GST_VIDEO_INFO_SIZE(&info.vinfo);
  const gstdrm::FourccInfo *fourcc = gstdrm::fourcc_info(info.drm_fourcc);
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  if (spec.agreed || spec.use_align || least == 0 || !fourcc || !meta ||
      info.drm_modifier != GST_DRM_MODIFIER_LINEAR || meta->n_planes != fourcc->n_planes ||
      gst_buffer_n_memory(buffer) != 1)
    return;
  // Of an interlaced frame GStreamer reads chroma rows of each field.
  const auto rows = [&](const gstdrm::PlaneInfo &plane) {
    return plane.vsub > 1 && GST_VIDEO_INFO_IS_INTERLACED(&info.vinfo)
               ? 2 * gstdrm::plane_rows(plane, (meta->height + 1) / 2)
               : gstdrm::plane_rows(plane, meta->height);
  };
  gsize end = least; // rows beyond those of the planes are written by the CPU
  for (guint i = 0; i < meta->n_planes && !spec.default_layout; ++i)
    end = MAX(end, meta->offset[i] + static_cast<gsize>(meta->stride[i]) * rows(fourcc->planes[i]));
  if (end < gst_buffer_get_size(buffer))
    gst_buffer_set_size(buffer, static_cast<gssize>(end));
}

// A buffer with the allocator's own rows; nullptr without an error where GStreamer's default layout
// is wanted and differs from it.
GstBuffer *alloc_own_layout(const FrameSpec &spec, GError **error)
{
  const GstDrmVideoInfo &info = spec.info;
  auto buffer =
      GstPtr<GstBuffer>::adopt(alloc_aligned(spec, spec.use_align ? &spec.align : nullptr, error));
  if (buffer && GST_VIDEO_INFO_SIZE(&info.vinfo) > 0)
    buffer.reset(alloc_with_spare_rows(spec, buffer.release()));
  if (buffer && spec.default_layout &&
      !has_default_layout(gst_buffer_get_video_meta(buffer.get()), info.vinfo))
    buffer.reset();
  if (buffer)
    cut_to_rows(spec, buffer.get());
  return buffer.release();
}

// Elements compare the frames of their pools themselves, and word the error. Other pools do that
// here.
bool is_as_agreed(GstBufferPool *pool, const FrameSpec &spec, GstBuffer *buffer, GError **error)
{
  if (!spec.agreed || !gstdrm::state_of(pool).checks_frames)
    return true;
  const auto checked = gstdrm::check_agreed(spec.allocator.get(), buffer);
  if (!checked)
    gstdrm::propagate(error, checked.error());
  return static_cast<bool>(checked);
}

bool makes_pictures(const FrameSpec &spec)
{
  return spec.info.drm_fourcc != 0;
}

GstBuffer *alloc_frame(GstBufferPool *pool, FrameSpec &spec, GError **error)
{
  GError *failure = nullptr;
  GstBuffer *buffer = nullptr;
  if (!makes_pictures(spec))
    buffer = alloc_agreed(spec, nullptr, nullptr, &failure);
  else if (!spec.other_layout)
    buffer = alloc_own_layout(spec, &failure);
  if (failure) {
    g_propagate_error(error, failure);
    return nullptr;
  }
  if (!buffer) {
    spec.other_layout = true;
    buffer = alloc_default_layout(spec, error);
  }
  if (!buffer)
    return nullptr;
  auto owned = GstPtr<GstBuffer>::adopt(buffer);
  if (!is_as_agreed(pool, spec, buffer, error))
    return nullptr;
  gstdrm::made(gst_buffer_add_drm_sync_meta(buffer));
  gstdrm::adopt_memory(pool, buffer);
  gstdrm::state_of(pool).allocations.fetch_add(1, std::memory_order_relaxed);
  return owned.release();
}

bool is_plain(const GstCaps *caps)
{
  return !gst_caps_features_contains(gst_caps_get_features(caps, 0),
                                     GST_CAPS_FEATURE_MEMORY_DMABUF);
}

// What the configuration asks for; false with a message in the log.
bool read_config(GstBufferPool *pool, GstStructure *config, GstCaps *caps, FrameSpec &spec)
{
  PoolState &state = gstdrm::state_of(pool);
  spec.agreed = gstdrm::agreed_in(config);
  if (spec.agreed && !gst_drm_constraints_is_reconciled(spec.agreed.get())) {
    GST_WARNING_OBJECT(pool, "the constraints in the configuration are no result of "
                             "gst_drm_constraints_reconcile()");
    return false;
  }
  g_autoptr(GError) error = nullptr;
  if (!caps && !spec.agreed) {
    GST_WARNING_OBJECT(pool, "the configuration has no caps");
    return false;
  }
  if (caps && !gst_drm_video_info_from_caps_full(&spec.info, caps, &error)) {
    GST_WARNING_OBJECT(pool, "%s", error->message);
    return false;
  }
  GstAllocator *allocator = nullptr;
  gst_buffer_pool_config_get_allocator(config, &allocator, nullptr);
  spec.allocator = allocator && GST_IS_DRM_ALLOCATOR(allocator)
                       ? GstPtr<GstDrmAllocator>::share(GST_DRM_ALLOCATOR(allocator))
                       : state.allocator;
  if (!spec.allocator) {
    GST_WARNING_OBJECT(pool, "no GstDrmAllocator to make buffers with");
    return false;
  }
  const bool meta = gst_buffer_pool_config_has_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  spec.default_layout = caps && !meta && is_plain(caps);
  gst_video_alignment_reset(&spec.align);
  spec.use_align =
      caps && meta &&
      gst_buffer_pool_config_has_option(config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT) &&
      gst_buffer_pool_config_get_video_alignment(config, &spec.align);
  return true;
}

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
  if (gstdrm::is_closed(pool))
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_TAG_MEMORY); // GstBufferPool frees such a buffer
  gstdrm::base_pool_class()->release_buffer(pool, buffer);
  gstdrm::state_of(pool).wake();
}

bool is_pending(GstBuffer *buffer)
{
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  return meta && gstdrm::awaits_release(meta);
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
    const gstdrm::UniqueFd fence(meta ? gst_drm_sync_meta_dup_release_fence(meta) : -1);
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
  PoolState &state = gstdrm::state_of(pool);
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
    flow = gstdrm::base_pool_class()->acquire_buffer(pool, &candidate, &no_wait);
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
  PoolState &state = gstdrm::state_of(pool);
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
      g_signal_emit(pool, pool_signals[SIGNAL_EXHAUSTED], 0);
    }
  }
}

GstFlowReturn pool_acquire_buffer(GstBufferPool *pool, GstBuffer **buffer,
                                  GstBufferPoolAcquireParams *params)
{
  static const GstBufferPoolAcquireParams kDefaults = {};
  const GstBufferPoolAcquireParams asked = params ? *params : kDefaults;
  const bool may_wait = (asked.flags & GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT) == 0;
  PoolState &state = gstdrm::state_of(pool);
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
      g_signal_emit(pool, pool_signals[SIGNAL_ALLOCATION_FAILED], 0, error.get());
  }
  return flow;
}

// Removes what producers and consumers left on the buffer, except for the release fence, which
// stays until the buffer is acquired.
void pool_reset_buffer(GstBufferPool *pool, GstBuffer *buffer)
{
  const bool intact = !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_TAG_MEMORY);
  gstdrm::restore_sizes(buffer);
  // GstBufferPool would replace memory that it cannot resize by a part of it.
  const bool hide = intact && !gst_buffer_is_all_memory_writable(buffer);
  if (hide)
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_TAG_MEMORY);
  gstdrm::base_pool_class()->reset_buffer(pool, buffer);
  if (hide)
    GST_BUFFER_FLAG_UNSET(buffer, GST_BUFFER_FLAG_TAG_MEMORY);
  if (GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer))
    gstdrm::drop_acquire_fences(meta);
  gstdrm::state_of(pool).note_released();
}

void pool_release_buffer(GstBufferPool *pool, GstBuffer *buffer)
{
  const bool intact = !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_TAG_MEMORY);
  if (intact && !gst_buffer_is_all_memory_writable(buffer)) {
    if (const auto frame = gstdrm::pooled_frame(buffer)) {
      gstdrm::state_of(pool).await_memory(frame, buffer);
      return;
    }
  }
  give_back(pool, buffer);
}

void pool_flush_start(GstBufferPool *pool) noexcept
{
  gstdrm::state_of(pool).wake(true);
}

gboolean pool_stop(GstBufferPool *pool) noexcept
{
  gstdrm::state_of(pool).keep_first(nullptr);
  gstdrm::state_of(pool).forget_awaited(pool);
  return gstdrm::base_pool_class()->stop(pool);
}

// GstBufferPool's own start, when it cannot make all of its first buffers, leaves those it made in
// the queue, where nobody frees them (gstbufferpool.c, default_start()).
gboolean pool_start(GstBufferPool *pool) noexcept
{
  std::atomic<bool> &is_starting = gstdrm::state_of(pool).is_starting;
  is_starting = true;
  const gboolean started = gstdrm::base_pool_class()->start(pool);
  is_starting = false;
  if (started)
    return TRUE;
  pool_stop(pool);
  return FALSE;
}

} // namespace

static const gchar **gst_drm_buffer_pool_get_options(GstBufferPool *) noexcept
{
  static const gchar *options[] = {GST_BUFFER_POOL_OPTION_VIDEO_META,
                                   GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT, nullptr};
  return options;
}

static gboolean gst_drm_buffer_pool_set_config(GstBufferPool *pool, GstStructure *config)
{
  PoolState &state = gstdrm::state_of(pool);
  GstCaps *caps = nullptr;
  guint size = 0;
  guint min = 0;
  guint max = 0;
  if (!gst_buffer_pool_config_get_params(config, &caps, &size, &min, &max)) {
    GST_WARNING_OBJECT(pool, "the configuration has no parameters");
    return FALSE;
  }
  FrameSpec spec;
  if (!read_config(pool, config, caps, spec))
    return FALSE;
  g_autoptr(GError) error = nullptr;
  GstBuffer *first = alloc_frame(pool, spec, &error);
  if (!first) {
    GST_WARNING_OBJECT(pool, "no buffers for %" GST_PTR_FORMAT ": %s", caps, error->message);
    return FALSE;
  }
  state.size = gst_buffer_get_size(first);
  if (spec.use_align && makes_pictures(spec)) {
    GstVideoAlignment realised = gst_buffer_get_video_meta(first)->alignment;
    gst_buffer_pool_config_set_video_alignment(config, &realised);
  }
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(state.size), min, max);
  gst_buffer_pool_config_set_allocator(config, GST_ALLOCATOR(spec.allocator.get()), nullptr);
  state.spec = std::move(spec);
  state.keep_first(first);
  if (!gstdrm::base_pool_class()->set_config(pool, config))
    return FALSE;
  if (size > state.size) {
    GST_WARNING_OBJECT(pool, "buffers of %u bytes were asked for, they have %" G_GSIZE_FORMAT, size,
                       state.size);
    return FALSE;
  }
  return TRUE;
}

static GstFlowReturn gst_drm_buffer_pool_alloc_buffer(GstBufferPool *pool, GstBuffer **buffer,
                                                      GstBufferPoolAcquireParams *)
{
  PoolState &state = gstdrm::state_of(pool);
  g_autoptr(GError) error = nullptr;
  GstBuffer *frame = state.take_first();
  if (!frame)
    frame = alloc_frame(pool, state.spec, &error);
  if (!frame) {
    GST_ERROR_OBJECT(pool, "%s", error->message);
    state.set_error(error);
    return GST_FLOW_ERROR;
  }
  *buffer = frame;
  return GST_FLOW_OK;
}

static void gst_drm_buffer_pool_finalize(GObject *object) noexcept
{
  // The parent stops the pool first, which releases buffers into it.
  PoolState *state = &GST_DRM_BUFFER_POOL(object)->state;
  G_OBJECT_CLASS(gst_drm_buffer_pool_parent_class)->finalize(object);
  std::destroy_at(state);
}

static void install_signals(GstDrmBufferPoolClass *klass)
{
  /**
   * GstDrmBufferPool::exhausted:
   * @pool: the pool
   *
   * As many buffers as the configuration allows are in use, and none came back while a thread
   * waited for one second. The wait goes on until a buffer comes back, or the pool is flushed or
   * deactivated. gst_drm_buffer_pool_get_stats() has the numbers. Emitted once per wait, by the
   * thread that waits.
   *
   * Since: 0.1
   */
  pool_signals[SIGNAL_EXHAUSTED] =
      g_signal_new("exhausted", G_TYPE_FROM_CLASS(klass), G_SIGNAL_RUN_LAST, 0, nullptr, nullptr,
                   nullptr, G_TYPE_NONE, 0);
  /**
   * GstDrmBufferPool::allocation-failed:
   * @pool: the pool
   * @error: what the allocator said
   *
   * A further buffer was needed and could not be made; gst_buffer_pool_acquire_buffer() then
   * returns %GST_FLOW_ERROR, which says no more. Emitted by the thread that asked for the buffer.
   *
   * Since: 0.1
   */
  pool_signals[SIGNAL_ALLOCATION_FAILED] =
      g_signal_new("allocation-failed", G_TYPE_FROM_CLASS(klass), G_SIGNAL_RUN_LAST, 0, nullptr,
                   nullptr, nullptr, G_TYPE_NONE, 1, G_TYPE_ERROR);
}

static void gst_drm_buffer_pool_class_init(GstDrmBufferPoolClass *klass)
{
  GstBufferPoolClass *pool_class = GST_BUFFER_POOL_CLASS(klass);
  G_OBJECT_CLASS(klass)->finalize = gst_drm_buffer_pool_finalize;
  pool_class->get_options = gst_drm_buffer_pool_get_options;
  pool_class->set_config = gstdrm::logging<gst_drm_buffer_pool_set_config>;
  pool_class->alloc_buffer = gstdrm::logging<gst_drm_buffer_pool_alloc_buffer>;
  pool_class->acquire_buffer = gstdrm::logging<pool_acquire_buffer>;
  pool_class->reset_buffer = gstdrm::logging<pool_reset_buffer>;
  pool_class->release_buffer = gstdrm::logging<pool_release_buffer>;
  pool_class->flush_start = pool_flush_start;
  pool_class->start = pool_start;
  pool_class->stop = pool_stop;
  install_signals(klass);
}

static void gst_drm_buffer_pool_init(GstDrmBufferPool *self)
{
  std::construct_at(&self->state);
}

/**
 * gst_drm_buffer_pool_new: (constructor)
 * @allocator: makes the frames, unless the configuration names another #GstDrmAllocator
 *
 * Makes a pool of an allocator's frames.
 *
 * Returns: (transfer full): a new, inactive pool
 *
 * Since: 0.1
 */
GstBufferPool *gst_drm_buffer_pool_new(GstDrmAllocator *allocator) noexcept
{
  g_return_val_if_fail(GST_IS_DRM_ALLOCATOR(allocator), nullptr);

  auto *pool = static_cast<GstDrmBufferPool *>(g_object_new(GST_TYPE_DRM_BUFFER_POOL, nullptr));
  gst_object_ref_sink(pool);
  pool->state.allocator = GstPtr<GstDrmAllocator>::share(allocator);
  return GST_BUFFER_POOL_CAST(pool);
}

/**
 * gst_drm_buffer_pool_get_stats:
 * @pool: a #GstDrmBufferPool
 *
 * Gets the pool's counters as a structure `drm-buffer-pool` with the #guint64 fields `allocations`
 * (frames made since the pool was created), `frames` and `bytes` (frames whose memory exists, also
 * those that are referenced elsewhere after the pool has stopped), `out` (frames in use: acquired,
 * or given back while a copy of them lives) and `waits` (how often a buffer was asked for while
 * every one there was had a release fence pending).
 *
 * Returns: (transfer full): a new structure
 *
 * Since: 0.1
 */
GstStructure *gst_drm_buffer_pool_get_stats(GstDrmBufferPool *pool) noexcept
try {
  g_return_val_if_fail(GST_IS_DRM_BUFFER_POOL(pool), nullptr);

  PoolState &state = pool->state;
  const std::shared_ptr<FrameCount> alive = state.alive();
  return gst_structure_new(
      "drm-buffer-pool", "allocations", G_TYPE_UINT64, state.allocations.load(), "frames",
      G_TYPE_UINT64, guint64{alive->frames.load()}, "bytes", G_TYPE_UINT64, alive->bytes.load(),
      "out", G_TYPE_UINT64, state.out(), "waits", G_TYPE_UINT64, state.waits.load(), nullptr);
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}
