// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinkreports.hpp"

#include <gst/drm/gstdrm-guard-private.hpp>

#include "gstkmsdmabufsink.hpp"
#include "gstkmssink.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

void SinkReports::restart()
{
  lost_announced_ = false;
  stall_announced_ = false;
  failure_.reset();
}

void SinkReports::connector_changed(const std::string &connector, bool connected)
{
  const auto alive = GstPtr<GstElement>::share(element_); // the handler may let it go
  GST_INFO_OBJECT(element_, "%s was %s", connector.c_str(), connected ? "plugged in" : "unplugged");
  GstStructure *structure =
      gst_structure_new("kms-hotplug", "connector", G_TYPE_STRING, connector.c_str(), "connected",
                        G_TYPE_BOOLEAN, connected ? TRUE : FALSE, nullptr);
  gst_element_post_message(element_, gst_message_new_element(GST_OBJECT(element_), structure));
  // In PAUSED, or between the slides of a show, the next frame may be far away.
  if (connected)
    sink_.repeat_frame();
}

void SinkReports::report(const kms::Report &report) noexcept
try {
  using What = kms::Report::What;
  const char *why = report.error.message.c_str();
  const int number = report.error.sys_errno;
  switch (report.what) {
  case What::Failed:
    return post_failure(report.error);
  case What::FormatsChanged:
    return sink_.request_choice();
  case What::RepaintWanted: // while no frames come; one that comes later finds everything shown
    return sink_.repeat_frame();
  case What::Unplugged:
  case What::PluggedIn:
    return connector_changed(report.text, report.what == What::PluggedIn);
  // One message on the bus from start to stop; each stall and each lost frame in the log.
  case What::Stalled:
    GST_WARNING_OBJECT(element_, "%s", why);
    if (!stall_announced_.exchange(true))
      GST_ELEMENT_WARNING(element_, RESOURCE, FAILED, ("%s", why), ("errno %d", number));
    return;
  case What::FrameLost:
    GST_WARNING_OBJECT(element_, "%s", why);
    if (!lost_announced_.exchange(true))
      GST_ELEMENT_WARNING(element_, RESOURCE, SYNC, ("%s", why),
                          ("errno %d; drm-stats counts them", number));
    return;
  case What::MasterLost:
    GST_ELEMENT_WARNING(element_, RESOURCE, NOT_AUTHORIZED,
                        ("Frames are dropped until the display is this program's again. %s", why),
                        ("errno %d", number));
    return;
  case What::MasterRegained:
    GST_INFO_OBJECT(element_, "the display is this program's again");
    return;
  case What::OutputDark:
    GST_ELEMENT_WARNING(element_, RESOURCE, NOT_FOUND, ("%s", why), ("errno %d", number));
    return;
  case What::OutputLit:
    GST_INFO_OBJECT(element_, "the display is on again");
    return;
  case What::PicturePlaced:
    GST_INFO_OBJECT(element_, "showing on %s", report.text.c_str());
    return;
  case What::OverlayRefused: // upstream is asked to blend by itself: FormatsChanged comes too
    GST_ELEMENT_WARNING(element_, RESOURCE, SETTINGS, ("%s", why),
                        ("errno %d; drm-stats counts refusals and copies", number));
    return;
  case What::ViewRefused:
    GST_ELEMENT_WARNING(element_, RESOURCE, SETTINGS, ("The picture stays as it was. %s", why),
                        ("errno %d", number));
    return;
  case What::TurnLeftOut:
    GST_ELEMENT_WARNING(element_, RESOURCE, SETTINGS,
                        ("The picture is shown without the turn that its stream asks for. %s", why),
                        ("errno %d", number));
    return;
  }
} catch (...) {
  post_exception(element_, __func__);
}

} // namespace gstdrm
