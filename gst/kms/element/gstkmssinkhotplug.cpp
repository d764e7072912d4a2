// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink: tells the application of displays that come and go, and of the display being lent.
#include "gstkmsdmabufsink.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

void SinkListener::connector_changed(const std::string &connector, bool connected) noexcept
try {
  GST_INFO_OBJECT(sink_, "%s was %s", connector.c_str(), connected ? "plugged in" : "unplugged");
  GstStructure *structure =
      gst_structure_new("kms-hotplug", "connector", G_TYPE_STRING, connector.c_str(), "connected",
                        G_TYPE_BOOLEAN, connected ? TRUE : FALSE, nullptr);
  gst_element_post_message(GST_ELEMENT(sink_),
                           gst_message_new_element(GST_OBJECT(sink_), structure));
  if (connected) // the next frame may be far away: paused, or a slide show
    sink_repeat_frame(GST_VIDEO_SINK(sink_));
} catch (...) {
  (void)caught_in(sink_, FALSE, __func__);
}

void SinkListener::master_changed(const Error &error, bool master) noexcept
{
  if (master)
    GST_INFO_OBJECT(sink_, "the display is this program's again");
  else
    GST_ELEMENT_WARNING(
        sink_, RESOURCE, NOT_AUTHORIZED,
        ("Frames are dropped until the display is this program's again. %s", error.message.c_str()),
        ("errno %d", error.sys_errno));
}

} // namespace gstdrm
