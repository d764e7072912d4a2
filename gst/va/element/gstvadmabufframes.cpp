// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvadmabufframes.hpp"

#include <optional>
#include <string>

#include "gstvaconvertcaps.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_va_dmabuf_src_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_va_dmabuf_src_debug

namespace gstdrm::va {
std::string not_drawn(const GstDrmVideoInfo &info)
{
  const GstVideoInfo &video = info.vinfo;
  if (GST_VIDEO_INFO_INTERLACE_MODE(&video) != GST_VIDEO_INTERLACE_MODE_PROGRESSIVE)
    return "interlaced frames; the patterns are progressive";
  if (GST_VIDEO_INFO_VIEWS(&video) > 1)
    return "frames of several views; the patterns have one";
  const GstVideoColorimetry &colours = video.colorimetry;
  const auto *format = format_by_drm(info.drm_fourcc);
  const bool yuv = format && format->model == Model::Yuv;
  const auto other = yuv ? GST_VIDEO_COLOR_RANGE_0_255 : GST_VIDEO_COLOR_RANGE_16_235;
  if (colours.range == other)
    return yuv ? "YUV of full range; the patterns have narrow range"
               : "RGB of narrow range; the patterns have full range";
  if (is_hdr(colours))
    return "PQ and HLG; the patterns have a standard dynamic range";
  if (yuv && !matrix_of(colours))
    return "the colour matrices of FCC and SMPTE 240M; the patterns have those of BT.601, BT.709 "
           "and BT.2020";
  return {};
}

GstPtr<GstCaps> drawn_caps(const GstCaps *caps)
{
  auto drawn = GstPtr<GstCaps>::adopt(gst_caps_copy(caps));
  g_auto(GValue) colours = G_VALUE_INIT;
  g_value_init(&colours, GST_TYPE_LIST);
  for (const char *name :
       {GST_VIDEO_COLORIMETRY_BT601, GST_VIDEO_COLORIMETRY_BT709, GST_VIDEO_COLORIMETRY_BT2020,
        GST_VIDEO_COLORIMETRY_BT2020_10, GST_VIDEO_COLORIMETRY_SRGB}) {
    g_auto(GValue) one = G_VALUE_INIT;
    g_value_init(&one, G_TYPE_STRING);
    g_value_set_static_string(&one, name);
    gst_value_list_append_value(&colours, &one);
  }
  gst_caps_set_simple(drawn.get(), "interlace-mode", G_TYPE_STRING, "progressive", "views",
                      G_TYPE_INT, 1, nullptr);
  gst_caps_set_value(drawn.get(), "colorimetry", &colours);
  return drawn;
}

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
  if (const auto what = not_drawn(info); !what.empty())
    return Error{ErrorCode::Layout,
                 "Downstream asks for " + what + ". Put an element between them that converts"};
  request.colours.matrix = matrix_of(info.vinfo.colorimetry).value_or(Matrix::Bt601);
  auto renderer = Renderer::create(device, request);
  if (!renderer)
    return renderer.error();
  return std::unique_ptr<FrameSource>(
      new FrameSource(element, std::move(renderer).value(), pattern, argb, stats, worker));
}

Result<void> FrameSource::try_draw(const Device &device, const GstDrmVideoInfo &info)
{
  const std::uint64_t modifier = info.drm_modifier;
  auto frame = allocate_frame(
      device, info.drm_fourcc, static_cast<std::uint32_t>(GST_VIDEO_INFO_WIDTH(&info.vinfo)),
      static_cast<std::uint32_t>(GST_VIDEO_INFO_HEIGHT(&info.vinfo)), {&modifier, 1});
  if (!frame)
    return frame.error();
  const auto drawn = renderer_->render(*frame->surface, 0, 0);
  return drawn ? Result<void>() : drawn.error();
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
  // vaPutImage may queue its upload
  if (fences_.attach(acquired, **surface))
    return begun;
  const std::optional<std::uint64_t> ticket = worker_.submit({*surface, {}, {}});
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
