// SPDX-License-Identifier: LGPL-2.1-or-later
// KmsSink: quality of service from flip times. The base class sends an event for each frame that it
// renders, with the time at which the frame was handed over. Upstream has to know of a frame that
// reached the screen late all the same.
#include <algorithm>
#include <optional>

#include "gstkmssink.hpp"

namespace gstdrm {

GstEvent *KmsSink::with_flip_time(GstEvent *event)
{
  const std::shared_ptr<kms::Display> display = display_.get();
  const std::optional<kms::LateFrame> late = display ? display->take_late() : std::nullopt;
  if (!late)
    return nullptr;
  GstQOSType type;
  gdouble proportion = 1.0;
  GstClockTimeDiff jitter = 0;
  GstClockTime timestamp = 0;
  gst_event_parse_qos(event, &type, &proportion, &jitter, &timestamp);
  if (jitter >= late->late_ns)
    return nullptr;
  const GstVideoInfo &vinfo = frames_.video_info();
  double slower = proportion;
  if (GST_VIDEO_INFO_FPS_N(&vinfo) > 0) {
    const GstClockTime duration = gst_util_uint64_scale_int(
        GST_SECOND, GST_VIDEO_INFO_FPS_D(&vinfo), GST_VIDEO_INFO_FPS_N(&vinfo));
    // The time of so many frames went by for each frame that was shown.
    if (duration > 0)
      slower = 1.0 + static_cast<double>(late->late_ns) / static_cast<double>(duration);
  }
  return gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, std::max(proportion, slower), late->late_ns,
                           late->stamp);
}

} // namespace gstdrm
