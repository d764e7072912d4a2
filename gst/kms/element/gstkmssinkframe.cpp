// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink: from a GstBuffer to a frame on the display.
#include <algorithm>

#include <gst/drm/element/frame_import.hpp>
#include <gst/drm/element/memory_token.hpp>

#include "engine/card/kms_event_loop.hpp"
#include "gstkmsdmabufsink.hpp"
#include "gstkmssinkpool.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

namespace {

using BufferPtr = GstPtr<GstBuffer>;

// Held by the streaming thread while it shows a frame, and let go while it waits.
class PrerollLock {
public:
  explicit PrerollLock(GstBaseSink *sink) noexcept : sink_(sink)
  {
    GST_BASE_SINK_PREROLL_LOCK(sink);
  }
  ~PrerollLock() { GST_BASE_SINK_PREROLL_UNLOCK(sink_); }
  PrerollLock(const PrerollLock &) = delete;
  PrerollLock &operator=(const PrerollLock &) = delete;

private:
  GstBaseSink *sink_;
};

// four held by the display, and the one being filled
constexpr guint kCopyBuffers = 5;

// The buffer as a frame, without a copy.
Result<kms::Frame> import_frame(SinkState &state, Display &display, GstBuffer *buffer)
{
  Result<FrameLayout> layout = frame_layout_of(buffer, state.info);
  if (!layout)
    return layout.error();
  layout->format = state.format;
  Result<kms::FramebufferCache::Import> import = display.import(*layout);
  if (!import)
    return import.error();
  (import->hit ? state.stats.import_hits : state.stats.imports)++;
  for (guint i = 0; i < gst_buffer_n_memory(buffer); i++)
    hold_while_alive(gst_buffer_peek_memory(buffer, i), import->liveness);

  kms::Frame frame;
  frame.framebuffer = std::move(import->imported);
  attach_fences(state, display, buffer, *layout, frame);
  frame.owner = std::shared_ptr<GstBuffer>(gst_buffer_ref(buffer),
                                           [](GstBuffer *held) { gst_buffer_unref(held); });
  return frame;
}

Result<void> activate_scanout_pool(GstVideoSink *sink, SinkState &state, Display &display)
{
  if (state.scanout_pool)
    return {};
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(GST_VIDEO_SINK_PAD(sink)));
  guint size = static_cast<guint>(GST_VIDEO_INFO_SIZE(&state.info.vinfo));
  Result<GstPtr<GstBufferPool>> pool = make_scanout_pool(display, caps.get(), size, kCopyBuffers);
  if (!pool)
    return pool.error();
  if (!gst_buffer_pool_set_active(pool->get(), TRUE))
    return Error{ErrorCode::Allocation,
                 display.device().name() + " has no memory for " + std::to_string(kCopyBuffers) +
                     " scanout buffers of " + std::to_string(size) + " bytes.",
                 ENOMEM};
  state.scanout_pool = std::move(*pool);
  return {};
}

// A copy of the buffer in scanout memory.
Result<BufferPtr> copy_buffer(GstVideoSink *sink, SinkState &state, Display &display,
                              GstBuffer *buffer, const char *reason)
{
  if (Result<void> active = activate_scanout_pool(sink, state, display); !active)
    return active.error();
  GstBuffer *acquired = nullptr;
  if (gst_buffer_pool_acquire_buffer(state.scanout_pool.get(), &acquired, nullptr) != GST_FLOW_OK)
    return Error{ErrorCode::Allocation,
                 "No scanout buffer of " + display.device().name() + " is free.", ENOMEM};
  BufferPtr copy = BufferPtr::adopt(acquired);
  GstVideoFrame from, to;
  if (!gst_video_frame_map(&from, &state.info.vinfo, buffer, GST_MAP_READ))
    return Error{ErrorCode::Layout,
                 "A buffer of " + std::to_string(gst_buffer_get_size(buffer)) +
                     " bytes cannot be read as " + describe_format(state.format) + ", " +
                     std::to_string(GST_VIDEO_INFO_WIDTH(&state.info.vinfo)) + "x" +
                     std::to_string(GST_VIDEO_INFO_HEIGHT(&state.info.vinfo)) + " (" +
                     std::to_string(GST_VIDEO_INFO_SIZE(&state.info.vinfo)) +
                     " bytes). Does upstream send what its caps say?",
                 0};
  if (!gst_video_frame_map(&to, &state.info.vinfo, copy.get(), GST_MAP_WRITE)) {
    gst_video_frame_unmap(&from);
    return Error{ErrorCode::Allocation, "A scanout buffer cannot be mapped.", 0};
  }
  const gboolean copied = gst_video_frame_copy(&to, &from);
  gst_video_frame_unmap(&to);
  gst_video_frame_unmap(&from);
  if (!copied)
    return Error{ErrorCode::Layout, "A frame cannot be copied into scanout memory.", 0};
  state.stats.count_copy(GST_ELEMENT(sink), GST_VIDEO_INFO_SIZE(&state.info.vinfo), reason);
  return copy;
}

bool may_copy(SinkState &state)
{
  return state.zero_copy() == ZeroCopy::Prefer &&
         GST_VIDEO_INFO_FORMAT(&state.info.vinfo) != GST_DRM_VIDEO_FORMAT_DMA_DRM &&
         (state.format.modifier == kModLinear || state.format.modifier == kModImplicit);
}

Result<kms::Frame> frame_from_buffer(GstVideoSink *sink, SinkState &state, Display &display,
                                     GstBuffer *buffer)
{
  const char *reason = "system memory";
  if (memory_kind(buffer) == MemoryKind::DmaBuf) {
    if (!state.imports_refused) {
      Result<kms::Frame> frame = import_frame(state, display, buffer);
      const bool imports = frame || (frame.error().code != ErrorCode::Import &&
                                     frame.error().code != ErrorCode::Unsupported);
      if (imports || !may_copy(state))
        return frame;
      GST_WARNING_OBJECT(sink, "copying from now on: %s", frame.error().message.c_str());
      state.imports_refused = true;
    }
    reason = "the display driver does not import upstream's DMA buffers";
  } else if (!state.plain) {
    return Error{ErrorCode::Layout,
                 "The caps say memory:DMABuf, but a buffer has other memory. Upstream must send "
                 "DMA buffers, or plain video/x-raw caps.",
                 0};
  }
  Result<BufferPtr> copy = copy_buffer(sink, state, display, buffer, reason);
  if (!copy)
    return copy.error();
  return import_frame(state, display, copy->get());
}

// When the frame should be on screen, on CLOCK_MONOTONIC, whatever clock the pipeline has.
void set_due_time(GstBaseSink *sink, GstBuffer *buffer, kms::Frame &frame)
{
  if (!gst_base_sink_get_sync(sink) || !GST_BUFFER_PTS_IS_VALID(buffer))
    return;
  GST_OBJECT_LOCK(sink);
  const GstClockTime running =
      gst_segment_to_running_time(&sink->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
  const GstClockTime base_time = GST_ELEMENT(sink)->base_time;
  GstClock *clock = GST_ELEMENT_CLOCK(sink);
  if (clock)
    gst_object_ref(clock);
  GST_OBJECT_UNLOCK(sink);
  if (!clock)
    return;
  const GstClockTime now = gst_clock_get_time(clock);
  gst_object_unref(clock);
  if (!GST_CLOCK_TIME_IS_VALID(running) || !GST_CLOCK_TIME_IS_VALID(now))
    return;
  const GstClockTimeDiff left = GST_CLOCK_DIFF(now, base_time + running) +
                                static_cast<GstClockTimeDiff>(gst_base_sink_get_latency(sink)) +
                                gst_base_sink_get_ts_offset(sink);
  frame.due_ns = kms::monotonic_now_ns() + left;
  frame.stamp = running;
}

// The frame goes to the display; a flush in PLAYING only interrupts until preroll is over.
GstFlowReturn show(GstVideoSink *sink, Display &display, kms::Frame &frame,
                   kms::FlipQueue::Overflow overflow)
{
  while (true) {
    Result<Display::Shown> shown = display.show(frame, overflow);
    if (!shown &&
        (shown.error().code == ErrorCode::Unsupported || shown.error().code == ErrorCode::Caps))
      return sink_refuse_pair(sink, display, shown.error());
    if (!shown) {
      post_error(GST_ELEMENT(sink), shown.error());
      return GST_FLOW_ERROR;
    }
    if (*shown == Display::Shown::Yes || *shown == Display::Shown::Dropped)
      return GST_FLOW_OK;
    if (*shown == Display::Shown::Failed) {
      if (const std::optional<Error> failure = display.failure())
        sink_post_failure(GST_KMS_DMABUF_SINK(sink), *failure);
      return GST_FLOW_ERROR;
    }
    const GstFlowReturn ret = gst_base_sink_wait_preroll(GST_BASE_SINK(sink));
    if (ret != GST_FLOW_OK)
      return ret;
  }
}

} // namespace

void sink_repeat_frame(GstVideoSink *sink)
{
  SinkState &state = *GST_KMS_DMABUF_SINK(sink)->state;
  const PrerollLock preroll(GST_BASE_SINK(sink));
  // Taken by whoever changes the caps or stops the display, who may be waiting for this thread.
  const std::unique_lock repeats(state.repeat_lock, std::try_to_lock);
  if (!repeats)
    return;
  const std::shared_ptr<Display> display = state.get_display();
  const auto last = GstPtr<GstSample>::adopt(gst_base_sink_get_last_sample(GST_BASE_SINK(sink)));
  const auto current = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(GST_VIDEO_SINK_PAD(sink)));
  if (!state.may_repeat || !display || !last || !current || state.refusals.refuses() ||
      !gst_caps_is_equal(current.get(), gst_sample_get_caps(last.get())))
    return;
  Result<kms::Frame> frame =
      frame_from_buffer(sink, state, *display, gst_sample_get_buffer(last.get()));
  Result<Display::Shown> shown = frame ? display->show(*frame, kms::FlipQueue::Overflow::Replace)
                                       : Result<Display::Shown>(frame.error());
  if (!shown)
    GST_WARNING_OBJECT(sink, "not repeated: %s", shown.error().message.c_str());
}

GstFlowReturn sink_show_frame(GstVideoSink *sink, GstBuffer *buffer) noexcept
try {
  SinkState &state = *GST_KMS_DMABUF_SINK(sink)->state;
  const std::shared_ptr<Display> display = state.get_display();
  if (!display)
    return GST_FLOW_FLUSHING;
  if (!state.in_preroll && state.prerolled == buffer) {
    state.prerolled = nullptr; // on screen since preroll
    return GST_FLOW_OK;
  }
  state.stats.frames++;
  if (state.refusals.refuses())
    return state.refusals.drop();
  Result<kms::Frame> frame = frame_from_buffer(sink, state, *display, buffer);
  if (!frame && frame.error().code == ErrorCode::Unsupported)
    return sink_refuse_pair(sink, *display, frame.error());
  if (!frame) {
    post_error(GST_ELEMENT(sink), frame.error());
    return GST_FLOW_ERROR;
  }
  const bool sync = gst_base_sink_get_sync(GST_BASE_SINK(sink)) != FALSE;
  if (!state.in_preroll)
    set_due_time(GST_BASE_SINK(sink), buffer, *frame);
  const GstFlowReturn ret =
      show(sink, *display, *frame,
           sync ? kms::FlipQueue::Overflow::Replace : kms::FlipQueue::Overflow::Wait);
  state.prerolled = state.in_preroll && ret == GST_FLOW_OK ? buffer : nullptr;
  return ret;
} catch (...) {
  return caught_in(sink, GST_FLOW_ERROR, __func__);
}

} // namespace gstdrm
