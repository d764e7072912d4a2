// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvadmabufframes.hpp"

#include <optional>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/gstdrmsync.h>

#include "gstvadmabufallocator.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_va_dmabuf_src_debug);
#define GST_CAT_DEFAULT gst_va_dmabuf_src_debug

namespace gstdrm::va {

Result<std::unique_ptr<FrameSource>> FrameSource::create(GstElement *element, const Device &device,
                                                         const GstDrmVideoInfo &info,
                                                         Pattern pattern, std::uint32_t argb,
                                                         Stats &stats, SyncWorker &worker)
{
  RenderRequest request;
  request.pattern = pattern;
  request.fourcc = info.drm_fourcc;
  request.width = static_cast<std::uint32_t>(GST_VIDEO_INFO_WIDTH(&info.vinfo));
  request.height = static_cast<std::uint32_t>(GST_VIDEO_INFO_HEIGHT(&info.vinfo));
  request.argb = argb;
  request.matrix =
      info.vinfo.colorimetry.matrix == GST_VIDEO_COLOR_MATRIX_BT709 ? Matrix::Bt709 : Matrix::Bt601;
  auto renderer = Renderer::create(device, request);
  if (!renderer)
    return renderer.error();
  return std::unique_ptr<FrameSource>(
      new FrameSource(element, std::move(renderer).value(), stats, worker));
}

// Attaches the fences of the drawing to the buffer. Returns false where the driver leaves no fence
// in its DMA buffers: then a thread has to wait in vaSyncSurface.
bool FrameSource::attach_fences(GstBuffer *buffer, const Surface &surface)
{
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  if (!meta)
    meta = gst_buffer_add_drm_sync_meta(buffer);
  for (guint i = 0; i < gst_buffer_n_memory(buffer); ++i) {
    const int fd = gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(buffer, i));
    UniqueFd fence(gst_drm_dmabuf_export_fence(fd, GST_DRM_ACCESS_READ, nullptr));
    if (!fence)
      return false;
    GstDrmFenceState state = GST_DRM_FENCE_STATE_SIGNALLED;
    (void)gst_drm_fence_get_state(fence.get(), &state, nullptr);
    if (state == GST_DRM_FENCE_STATE_SIGNALLED)
      continue;
    seen_pending_ = true;
    if (!gst_drm_sync_meta_add_acquire_fence(meta, fence.release(), nullptr))
      return false;
  }
  if (seen_pending_)
    return true;
  // A signalled fence means that the drawing is done, or that the driver leaves no fence. In the
  // second case the surface is still busy.
  const auto busy = is_rendering(surface);
  return busy && !*busy;
}

Result<FrameSource::Begun> FrameSource::begin(GstBufferPool *pool, std::uint64_t frame,
                                              GstClockTime timestamp, bool may_wait)
{
  GstBufferPoolAcquireParams params = {};
  if (!may_wait)
    params.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT;
  GstBuffer *acquired = nullptr;
  Begun begun;
  begun.flow = gst_buffer_pool_acquire_buffer(pool, &acquired, &params);
  if (begun.flow != GST_FLOW_OK)
    return begun;
  begun.drawn.buffer = GstPtr<GstBuffer>::adopt(acquired);
  begun.drawn.frame = frame;
  const auto *surface = surface_of(acquired);
  if (!surface)
    return Error{ErrorCode::Allocation, "A buffer of the pool is no VA surface"};
  auto written = renderer_->render(**surface, frame, timestamp);
  if (!written)
    return written.error();
  if (*written > 0)
    stats_.count_copy(element_, *written, "the VA driver has no video processing");
  else if (leaves_fences_)
    leaves_fences_ = attach_fences(acquired, **surface);
  if (*written > 0 || leaves_fences_)
    return begun;
  const std::optional<std::uint64_t> ticket = worker_.submit(*surface);
  if (!ticket)
    return Begun{GST_FLOW_FLUSHING, {}};
  begun.drawn.ticket = *ticket;
  return begun;
}

Result<FrameSource::Produced> FrameSource::produce(GstBufferPool *pool, std::uint64_t frame,
                                                   const Timeline &timeline)
{
  Drawn drawn = std::move(ahead_);
  ahead_ = {};
  if (!drawn.buffer || drawn.frame != frame) {
    auto begun = begin(pool, frame, timeline.at(frame), true);
    if (!begun)
      return begun.error();
    if (begun->flow != GST_FLOW_OK)
      return Produced{begun->flow, {}};
    drawn = std::move(begun->drawn);
  }
  if (drawn.ticket != 0) {
    // Submit the next frame before waiting for this one, if the pool has a free surface: the device
    // stays busy.
    auto next = begin(pool, frame + 1, timeline.at(frame + 1), false);
    if (!next)
      return next.error();
    if (next->flow == GST_FLOW_OK)
      ahead_ = std::move(next->drawn);
    stats_.waits.fetch_add(1, std::memory_order_relaxed);
    auto outcome = worker_.wait(drawn.ticket);
    if (!outcome)
      return outcome.error();
    if (*outcome == SyncWorker::Outcome::Cancelled)
      return Produced{GST_FLOW_FLUSHING, {}};
  }
  stats_.frames.fetch_add(1, std::memory_order_relaxed);
  return Produced{GST_FLOW_OK, std::move(drawn.buffer)};
}

} // namespace gstdrm::va
