// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:gstdrmbufferpool
 * @title: GstDrmBufferPool
 * @short_description: recycled frames of a #GstDrmAllocator
 *
 * Configured with DMA_DRM caps it makes frames of that very pair; with plain `video/x-raw` caps linear
 * frames, for elements that know nothing of DMA_DRM, such as a decoder that is handed this pool and
 * writes into DMA buffers without knowing.
 *
 * Setting the configuration allocates the first frame, to learn what the allocator makes of it: the size and,
 * with %GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT, the alignment in the configuration are what came out. With
 * plain caps and without %GST_BUFFER_POOL_OPTION_VIDEO_META frames have GStreamer's default layout, because
 * such a user does not look at the meta.
 *
 * Every buffer carries a #GstVideoMeta and a #GstDrmSyncMeta. A buffer whose release fence has not signalled is
 * not handed out: another one is, or one is waited for. Acquire fences are dropped when a buffer comes back.
 */
#include "gstdrmbufferpool.h"

#include <atomic>
#include <mutex>
#include <vector>

#include "core/unique_fd.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmallocator-private.hpp"
#include "gstdrmsync.h"

#define GST_CAT_DEFAULT gstdrm::allocator_debug_category()

namespace gstdrm {

namespace {

// A fence is waited for in steps, so that the others and a flush are seen, and not for ever: one that
// has not signalled by then belongs to a device that hangs.
constexpr GstClockTime kWaitStep = 5 * GST_MSECOND;
constexpr GstClockTime kWaitLimit = 1 * GST_SECOND;
// Buffers looked at before one is waited for; with them the pool grows no further.
constexpr std::size_t kMostPending = 8;

// What one configuration makes.
struct FrameSpec {
  GstPtr<GstDrmAllocator> allocator;
  GstDrmVideoInfo info = {};
  GstVideoAlignment align = {};
  bool use_align = false;
  bool default_layout = false; // GstVideoInfo's strides and offsets, for users without GstVideoMeta
};

} // namespace

class PoolState {
public:
  GstPtr<GstDrmAllocator> allocator;       // unless the configuration names another
  FrameSpec spec;                          // set while the pool is inactive
  gsize size = 0;
  std::atomic<guint64> waits{0};

  void keep_first(GstBuffer *adopted)
  {
    const std::lock_guard lock(first_lock_);
    first_.reset(adopted);
  }
  GstBuffer *take_first()
  {
    const std::lock_guard lock(first_lock_);
    return first_.release();
  }

private:
  std::mutex first_lock_;
  GstPtr<GstBuffer> first_;
};

} // namespace gstdrm

using gstdrm::FrameSpec;
using gstdrm::GstPtr;
using gstdrm::PoolState;

struct _GstDrmBufferPool {
  GstBufferPool parent;
  PoolState *state;
};

G_DEFINE_TYPE(GstDrmBufferPool, gst_drm_buffer_pool, GST_TYPE_BUFFER_POOL)

namespace {

GstBufferPoolClass *parent_class()
{
  return GST_BUFFER_POOL_CLASS(gst_drm_buffer_pool_parent_class);
}

bool has_default_layout(const GstVideoMeta *meta, const GstVideoInfo &info)
{
  if (meta->n_planes != GST_VIDEO_INFO_N_PLANES(&info))
    return false;
  for (guint i = 0; i < meta->n_planes; ++i)
    if (meta->offset[i] != info.offset[i] || meta->stride[i] != info.stride[i])
      return false;
  return true;
}

// One memory with planes where GstVideoInfo has them.
GstBuffer *alloc_default_layout(const FrameSpec &spec, GError **error)
{
  GstVideoInfo info = spec.info.vinfo; // a copy: 1.22 takes offsets and strides without const
  GstMemory *memory = nullptr;
  if (!GST_OBJECT_FLAG_IS_SET(spec.allocator.get(), GST_ALLOCATOR_FLAG_CUSTOM_ALLOC))
    memory = gst_allocator_alloc(GST_ALLOCATOR(spec.allocator.get()), info.size, nullptr);
  if (!memory) {
    g_set_error(error, GST_DRM_ERROR, GST_DRM_ERROR_ALLOCATION,
                "%s cannot make GStreamer's default layout of %s %dx%d; the user of the pool has to support "
                "GstVideoMeta, or use udmabuf or dma-heap",
                GST_OBJECT_NAME(spec.allocator.get()), GST_VIDEO_INFO_NAME(&info),
                GST_VIDEO_INFO_WIDTH(&info), GST_VIDEO_INFO_HEIGHT(&info));
    return nullptr;
  }
  GstBuffer *buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, memory);
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info)),
                                 static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info)),
                                 GST_VIDEO_INFO_N_PLANES(&info), info.offset, info.stride);
  return buffer;
}

GstBuffer *alloc_frame(const FrameSpec &spec, GError **error)
{
  const GstDrmVideoInfo &info = spec.info;
  const auto width = static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info.vinfo));
  const auto height = static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info.vinfo));
  GstBuffer *buffer = gst_drm_allocator_alloc_frame(spec.allocator.get(), info.drm_fourcc, width, height,
                                                    &info.drm_modifier, 1,
                                                    spec.use_align ? &spec.align : nullptr, nullptr, error);
  if (buffer && spec.default_layout &&
      !has_default_layout(gst_buffer_get_video_meta(buffer), info.vinfo)) {
    gst_buffer_unref(buffer);
    buffer = alloc_default_layout(spec, error);
  }
  if (buffer)
    gst_buffer_add_drm_sync_meta(buffer);
  return buffer;
}

bool is_plain(const GstCaps *caps)
{
  return !gst_caps_features_contains(gst_caps_get_features(caps, 0), GST_CAPS_FEATURE_MEMORY_DMABUF);
}

// What the configuration asks for; false with a message in the log.
bool read_config(GstBufferPool *pool, GstStructure *config, GstCaps *caps, FrameSpec &spec)
{
  PoolState &state = *GST_DRM_BUFFER_POOL(pool)->state;
  g_autoptr(GError) error = nullptr;
  if (!gst_drm_video_info_from_caps_full(&spec.info, caps, &error)) {
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
  spec.default_layout = !meta && is_plain(caps);
  gst_video_alignment_reset(&spec.align);
  spec.use_align = meta &&
                   gst_buffer_pool_config_has_option(config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT) &&
                   gst_buffer_pool_config_get_video_alignment(config, &spec.align);
  return true;
}

// -1: none, or none that is still pending
gstdrm::UniqueFd pending_fence(GstBuffer *buffer)
{
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  gstdrm::UniqueFd fence(meta ? gst_drm_sync_meta_dup_release_fence(meta) : -1);
  GstDrmFenceState fence_state = GST_DRM_FENCE_STATE_SIGNALLED;
  if (fence && gst_drm_fence_get_state(fence.get(), &fence_state, nullptr) &&
      fence_state == GST_DRM_FENCE_STATE_PENDING)
    return fence;
  return {};
}

// Buffers taken off the queue while their readers are not done; the rest goes back at the end.
class Pending {
public:
  explicit Pending(GstBufferPool *pool) : pool_(pool) {}
  Pending(const Pending &) = delete;
  Pending &operator=(const Pending &) = delete;
  ~Pending()
  {
    for (GstBuffer *buffer : buffers_)
      parent_class()->release_buffer(pool_, buffer);
  }

  [[nodiscard]] bool empty() const { return buffers_.empty(); }
  [[nodiscard]] bool full() const { return buffers_.size() >= gstdrm::kMostPending; }
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
    if (const gstdrm::UniqueFd fence = pending_fence(buffers_.front()))
      gst_drm_fence_wait(fence.get(), gstdrm::kWaitStep, nullptr, nullptr);
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
  PoolState &state = *GST_DRM_BUFFER_POOL(pool)->state;
  state.waits.fetch_add(1, std::memory_order_relaxed);
  GST_LOG_OBJECT(pool, "every buffer is still being read, waiting for a release fence");
  const gint64 limit = g_get_monotonic_time() + static_cast<gint64>(gstdrm::kWaitLimit / GST_USECOND);
  while (!(*buffer = pending.take_ready())) {
    if (GST_BUFFER_POOL_IS_FLUSHING(pool))
      return GST_FLOW_FLUSHING;
    if (g_get_monotonic_time() > limit) {
      GST_WARNING_OBJECT(pool, "no release fence signalled within %" GST_TIME_FORMAT
                         ": a reader hangs; its buffers are given up", GST_TIME_ARGS(gstdrm::kWaitLimit));
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
  no_wait.flags = static_cast<GstBufferPoolAcquireFlags>(no_wait.flags | GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT);
  Pending pending(pool);
  GstFlowReturn flow = GST_FLOW_OK;
  while (!pending.full()) {
    GstBuffer *candidate = nullptr;
    flow = parent_class()->acquire_buffer(pool, &candidate, &no_wait);
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

} // namespace

static const gchar **gst_drm_buffer_pool_get_options(GstBufferPool *)
{
  static const gchar *options[] = {GST_BUFFER_POOL_OPTION_VIDEO_META, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT,
                                   nullptr};
  return options;
}

static gboolean gst_drm_buffer_pool_set_config(GstBufferPool *pool, GstStructure *config)
{
  PoolState &state = *GST_DRM_BUFFER_POOL(pool)->state;
  GstCaps *caps = nullptr;
  guint size = 0;
  guint min = 0;
  guint max = 0;
  if (!gst_buffer_pool_config_get_params(config, &caps, &size, &min, &max) || !caps) {
    GST_WARNING_OBJECT(pool, "the configuration has no caps");
    return FALSE;
  }
  FrameSpec spec;
  if (!read_config(pool, config, caps, spec))
    return FALSE;
  g_autoptr(GError) error = nullptr;
  GstBuffer *first = alloc_frame(spec, &error);
  if (!first) {
    GST_WARNING_OBJECT(pool, "no buffers for %" GST_PTR_FORMAT ": %s", caps, error->message);
    return FALSE;
  }
  state.size = gst_buffer_get_size(first);
  if (spec.use_align) {
    GstVideoAlignment realised = gst_buffer_get_video_meta(first)->alignment;
    gst_buffer_pool_config_set_video_alignment(config, &realised);
  }
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(state.size), min, max);
  gst_buffer_pool_config_set_allocator(config, GST_ALLOCATOR(spec.allocator.get()), nullptr);
  state.spec = std::move(spec);
  state.keep_first(first);
  if (!parent_class()->set_config(pool, config))
    return FALSE;
  if (size > state.size) {
    GST_WARNING_OBJECT(pool, "buffers of %u bytes were asked for, they have %" G_GSIZE_FORMAT, size, state.size);
    return FALSE;
  }
  return TRUE;
}

static GstFlowReturn gst_drm_buffer_pool_alloc_buffer(GstBufferPool *pool, GstBuffer **buffer,
                                                      GstBufferPoolAcquireParams *)
{
  PoolState &state = *GST_DRM_BUFFER_POOL(pool)->state;
  g_autoptr(GError) error = nullptr;
  GstBuffer *frame = state.take_first();
  if (!frame)
    frame = alloc_frame(state.spec, &error);
  if (!frame) {
    GST_ERROR_OBJECT(pool, "%s", error->message);
    return GST_FLOW_ERROR;
  }
  *buffer = frame;
  return GST_FLOW_OK;
}

static GstFlowReturn gst_drm_buffer_pool_acquire_buffer(GstBufferPool *pool, GstBuffer **buffer,
                                                        GstBufferPoolAcquireParams *params)
{
  static const GstBufferPoolAcquireParams kDefaults = {};
  GstBufferPoolAcquireParams asked = params ? *params : kDefaults;
  const bool may_wait = (asked.flags & GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT) == 0;
  GstFlowReturn flow = acquire_ready(pool, buffer, asked, may_wait);
  // All are out: sleep until one comes back. It may come with a fence.
  while (flow == GST_FLOW_EOS && may_wait) {
    GstBuffer *returned = nullptr;
    flow = parent_class()->acquire_buffer(pool, &returned, &asked);
    if (flow != GST_FLOW_OK)
      return flow;
    Pending pending(pool);
    pending.add(returned);
    *buffer = pending.take_ready();
    flow = *buffer ? GST_FLOW_OK : wait_for_one(pool, pending, buffer);
  }
  if (flow == GST_FLOW_OK)
    if (GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(*buffer))
      gst_drm_sync_meta_clear(meta);
  return flow;
}

// What producers and consumers left on the buffer goes; the release fence stays until it is acquired.
static void gst_drm_buffer_pool_reset_buffer(GstBufferPool *pool, GstBuffer *buffer)
{
  const guint n = gst_buffer_n_memory(buffer);
  for (guint i = 0; i < n; ++i) {
    // A consumer may have cut the buffer (gst_buffer_resize()); the parent knows one memory only.
    GstMemory *memory = gst_buffer_peek_memory(buffer, i);
    if (memory->parent == nullptr && gst_memory_is_writable(memory))
      gst_memory_resize(memory, -static_cast<gssize>(memory->offset), memory->maxsize);
  }
  parent_class()->reset_buffer(pool, buffer);
  if (GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer)) {
    const gstdrm::UniqueFd release(gst_drm_sync_meta_dup_release_fence(meta));
    gst_drm_sync_meta_clear(meta);
    if (release)
      gst_drm_sync_meta_add_release_fence(meta, release.get(), nullptr);
  }
}

static gboolean gst_drm_buffer_pool_stop(GstBufferPool *pool)
{
  GST_DRM_BUFFER_POOL(pool)->state->keep_first(nullptr);
  return parent_class()->stop(pool);
}

static void gst_drm_buffer_pool_finalize(GObject *object)
{
  // The parent stops the pool first, which releases buffers into it.
  PoolState *state = GST_DRM_BUFFER_POOL(object)->state;
  G_OBJECT_CLASS(gst_drm_buffer_pool_parent_class)->finalize(object);
  delete state;
}

static void gst_drm_buffer_pool_class_init(GstDrmBufferPoolClass *klass)
{
  GstBufferPoolClass *pool_class = GST_BUFFER_POOL_CLASS(klass);
  G_OBJECT_CLASS(klass)->finalize = gst_drm_buffer_pool_finalize;
  pool_class->get_options = gst_drm_buffer_pool_get_options;
  pool_class->set_config = gst_drm_buffer_pool_set_config;
  pool_class->alloc_buffer = gst_drm_buffer_pool_alloc_buffer;
  pool_class->acquire_buffer = gst_drm_buffer_pool_acquire_buffer;
  pool_class->reset_buffer = gst_drm_buffer_pool_reset_buffer;
  pool_class->stop = gst_drm_buffer_pool_stop;
}

static void gst_drm_buffer_pool_init(GstDrmBufferPool *self)
{
  self->state = new PoolState;
}

/**
 * gst_drm_buffer_pool_new: (constructor)
 * @allocator: makes the frames, unless the configuration names another #GstDrmAllocator
 *
 * Returns: (transfer full): a new, inactive pool
 *
 * Since: 0.1
 */
GstBufferPool *gst_drm_buffer_pool_new(GstDrmAllocator *allocator)
{
  g_return_val_if_fail(GST_IS_DRM_ALLOCATOR(allocator), nullptr);

  auto *pool = static_cast<GstDrmBufferPool *>(g_object_new(GST_TYPE_DRM_BUFFER_POOL, nullptr));
  gst_object_ref_sink(pool);
  pool->state->allocator = GstPtr<GstDrmAllocator>::share(allocator);
  return GST_BUFFER_POOL_CAST(pool);
}

/**
 * gst_drm_buffer_pool_get_waits:
 * @pool: a #GstDrmBufferPool
 *
 * Returns: how often a buffer was asked for while every one that there was still had a release fence pending
 *
 * Since: 0.1
 */
guint64 gst_drm_buffer_pool_get_waits(GstDrmBufferPool *pool)
{
  g_return_val_if_fail(GST_IS_DRM_BUFFER_POOL(pool), 0);

  return pool->state->waits.load(std::memory_order_relaxed);
}
