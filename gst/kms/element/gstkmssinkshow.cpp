// SPDX-License-Identifier: LGPL-2.1-or-later
// KmsSink: frames, from the base class to the display.
#include <mutex>
#include <optional>

#include <gst/drm/element/errors.hpp>

#include "engine/card/kms_event_loop.hpp"
#include "gstkmsdmabufsink.hpp"
#include "gstkmssink.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

namespace {

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

} // namespace

void KmsSink::get_times(GstBuffer *buffer, GstClockTime *start, GstClockTime *end) const
{
  const GstVideoInfo &vinfo = frames_.video_info();
  *start = GST_BUFFER_PTS_IS_VALID(buffer) ? GST_BUFFER_PTS(buffer) : GST_BUFFER_DTS(buffer);
  *end = GST_CLOCK_TIME_NONE;
  if (!GST_CLOCK_TIME_IS_VALID(*start))
    return;
  if (GST_BUFFER_DURATION_IS_VALID(buffer))
    *end = *start + GST_BUFFER_DURATION(buffer);
  else if (GST_VIDEO_INFO_FPS_N(&vinfo) > 0)
    *end = *start + gst_util_uint64_scale_int(GST_SECOND, GST_VIDEO_INFO_FPS_D(&vinfo),
                                              GST_VIDEO_INFO_FPS_N(&vinfo));
}

// When the frame should be on screen, on CLOCK_MONOTONIC, whatever clock the pipeline has.
void KmsSink::set_due_time(GstBuffer *buffer, kms::Frame &frame)
{
  GstBaseSink *sink = GST_BASE_SINK(element_);
  if (!gst_base_sink_get_sync(sink) || !GST_BUFFER_PTS_IS_VALID(buffer))
    return;
  GST_OBJECT_LOCK(sink);
  const GstClockTime running =
      gst_segment_to_running_time(&sink->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
  const GstClockTime base_time = GST_ELEMENT(sink)->base_time;
  const auto clock = GstPtr<GstClock>::share(GST_ELEMENT_CLOCK(sink));
  GST_OBJECT_UNLOCK(sink);
  if (!clock)
    return;
  const GstClockTime now = gst_clock_get_time(clock.get());
  if (!GST_CLOCK_TIME_IS_VALID(running) || !GST_CLOCK_TIME_IS_VALID(now))
    return;
  const GstClockTimeDiff left = GST_CLOCK_DIFF(now, base_time + running) +
                                static_cast<GstClockTimeDiff>(gst_base_sink_get_latency(sink)) +
                                gst_base_sink_get_ts_offset(sink);
  frame.due_ns = kms::monotonic_now_ns() + left;
  frame.stamp = running;
}

GstFlowReturn KmsSink::fail(const Error &error)
{
  post_error(GST_ELEMENT(element_), error);
  return GST_FLOW_ERROR;
}

// Hands the frame to the display. A flush in PLAYING only interrupts until preroll is over.
GstFlowReturn KmsSink::show(kms::Display &display, kms::Frame &frame,
                            kms::FlipQueue::Overflow overflow)
{
  while (true) {
    const Result<kms::Display::Shown> shown = display.show(frame, overflow);
    if (!shown &&
        (shown.error().code == ErrorCode::Unsupported || shown.error().code == ErrorCode::Caps))
      return negotiation_.refuse(display, shown.error());
    if (!shown)
      return fail(shown.error());
    if (*shown == kms::Display::Shown::Yes || *shown == kms::Display::Shown::Dropped)
      return GST_FLOW_OK;
    if (*shown == kms::Display::Shown::Failed) {
      if (const std::optional<Error> failure = display.failure())
        reports_.post_failure(*failure);
      return GST_FLOW_ERROR;
    }
    const GstFlowReturn ret = gst_base_sink_wait_preroll(GST_BASE_SINK(element_));
    if (ret != GST_FLOW_OK)
      return ret;
  }
}

GstFlowReturn KmsSink::show_frame(GstBuffer *buffer)
{
  const std::shared_ptr<kms::Display> display = display_.get();
  if (!display)
    return GST_FLOW_FLUSHING;
  if (!in_preroll_ && prerolled_ == buffer) {
    prerolled_ = nullptr; // on screen since preroll
    return GST_FLOW_OK;
  }
  stats_.frames++;
  if (negotiation_.refuses())
    return negotiation_.drop();
  Result<kms::Frame> frame = frames_.make(*display, buffer);
  if (!frame && frame.error().code == ErrorCode::Unsupported)
    return negotiation_.refuse(*display, frame.error());
  if (!frame)
    return fail(frame.error());
  const bool sync = gst_base_sink_get_sync(GST_BASE_SINK(element_)) != FALSE;
  if (!in_preroll_)
    set_due_time(buffer, *frame);
  const GstFlowReturn ret = show(
      *display, *frame, sync ? kms::FlipQueue::Overflow::Replace : kms::FlipQueue::Overflow::Wait);
  prerolled_ = in_preroll_ && ret == GST_FLOW_OK ? buffer : nullptr;
  return ret;
}

// With repeat_lock_ held. `last` is what the last frame's caps were.
bool KmsSink::can_repeat(const GstCaps *last) const
{
  const auto current =
      GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(GST_VIDEO_SINK_PAD(element_)));
  return started_ && current && !negotiation_.refuses() && gst_caps_is_equal(current.get(), last);
}

void KmsSink::repeat_frame()
{
  const PrerollLock preroll(GST_BASE_SINK(element_));
  // A thread that changes the caps or stops the display holds this lock, and may wait for the
  // present thread.
  const std::unique_lock repeats(repeat_lock_, std::try_to_lock);
  if (!repeats)
    return;
  const std::shared_ptr<kms::Display> display = display_.get();
  const auto last =
      GstPtr<GstSample>::adopt(gst_base_sink_get_last_sample(GST_BASE_SINK(element_)));
  if (!display || !last || !can_repeat(gst_sample_get_caps(last.get())))
    return;
  Result<kms::Frame> frame = frames_.make(*display, gst_sample_get_buffer(last.get()));
  const Result<kms::Display::Shown> shown =
      frame ? display->show(*frame, kms::FlipQueue::Overflow::Replace)
            : Result<kms::Display::Shown>(frame.error());
  if (!shown)
    GST_WARNING_OBJECT(element_, "not repeated: %s", shown.error().message.c_str());
}

} // namespace gstdrm
