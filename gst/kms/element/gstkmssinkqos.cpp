// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink: quality of service from flip times. The base class sends an event for each frame
// it renders, with the time at which it was handed over; a frame that then reached the screen late
// is what upstream has to know.
#include <algorithm>

#include "gstkmsdmabufsink.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

namespace {

// The event of the base class with what the display saw, where that is worse.
GstEvent *with_flip_time(GstEvent *event, const kms::LateFrame &late, GstClockTime frame_duration)
{
  GstQOSType type;
  gdouble proportion = 1.0;
  GstClockTimeDiff jitter = 0;
  GstClockTime timestamp = 0;
  gst_event_parse_qos(event, &type, &proportion, &jitter, &timestamp);
  if (jitter >= late.late_ns)
    return nullptr;
  // for each frame shown, so many frames' time went by
  const double slower =
      GST_CLOCK_TIME_IS_VALID(frame_duration) && frame_duration > 0
          ? 1.0 + static_cast<double>(late.late_ns) / static_cast<double>(frame_duration)
          : proportion;
  return gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, std::max(proportion, slower), late.late_ns,
                           late.stamp);
}

GstPadProbeReturn on_upstream_event(GstPad *, GstPadProbeInfo *info, gpointer data) noexcept
try {
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  SinkState &state = *static_cast<SinkState *>(data);
  if (GST_EVENT_TYPE(event) != GST_EVENT_QOS)
    return GST_PAD_PROBE_OK;
  const std::shared_ptr<Display> display = state.get_display();
  const std::optional<kms::LateFrame> late = display ? display->take_late() : std::nullopt;
  if (!late)
    return GST_PAD_PROBE_OK;
  const GstVideoInfo &vinfo = state.info.vinfo;
  const GstClockTime duration =
      GST_VIDEO_INFO_FPS_N(&vinfo) > 0
          ? gst_util_uint64_scale_int(GST_SECOND, GST_VIDEO_INFO_FPS_D(&vinfo),
                                      GST_VIDEO_INFO_FPS_N(&vinfo))
          : GST_CLOCK_TIME_NONE;
  if (GstEvent *changed = with_flip_time(event, *late, duration)) {
    gst_event_unref(event);
    GST_PAD_PROBE_INFO_DATA(info) = changed;
  }
  return GST_PAD_PROBE_OK;
} catch (...) {
  return caught(GST_PAD_PROBE_OK, __func__);
}

} // namespace

void report_flips_upstream(GstKmsDmabufSink *sink)
{
  gst_pad_add_probe(GST_BASE_SINK_PAD(sink), GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, on_upstream_event,
                    sink->state, nullptr);
}

} // namespace gstdrm
