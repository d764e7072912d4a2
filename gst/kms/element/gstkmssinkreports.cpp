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

void SinkReports::display_failed(const Error &error) noexcept
try {
  post_failure(error);
} catch (...) {
  post_exception(element_, __func__);
}

void SinkReports::formats_changed() noexcept
{
  sink_.request_choice();
}

// One message on the bus from start to stop; each stall in the log.
void SinkReports::display_stalled(const Error &error) noexcept
{
  GST_WARNING_OBJECT(element_, "%s", error.message.c_str());
  if (!stall_announced_.exchange(true))
    GST_ELEMENT_WARNING(element_, RESOURCE, FAILED, ("%s", error.message.c_str()),
                        ("errno %d", error.sys_errno));
}

// One message on the bus from start to stop; each lost frame in the log.
void SinkReports::frame_lost(const Error &error) noexcept
{
  GST_WARNING_OBJECT(element_, "%s", error.message.c_str());
  if (!lost_announced_.exchange(true))
    GST_ELEMENT_WARNING(element_, RESOURCE, SYNC, ("%s", error.message.c_str()),
                        ("errno %d; drm-stats counts them", error.sys_errno));
}

void SinkReports::connector_changed(const std::string &connector, bool connected) noexcept
try {
  const auto alive = GstPtr<GstElement>::share(element_); // the handler may let it go
  GST_INFO_OBJECT(element_, "%s was %s", connector.c_str(), connected ? "plugged in" : "unplugged");
  GstStructure *structure =
      gst_structure_new("kms-hotplug", "connector", G_TYPE_STRING, connector.c_str(), "connected",
                        G_TYPE_BOOLEAN, connected ? TRUE : FALSE, nullptr);
  gst_element_post_message(element_, gst_message_new_element(GST_OBJECT(element_), structure));
  // In PAUSED, or between the slides of a show, the next frame may be far away.
  if (connected)
    sink_.repeat_frame();
} catch (...) {
  post_exception(element_, __func__);
}

// While no frames come; one that comes later finds everything shown.
void SinkReports::repaint_wanted() noexcept
try {
  sink_.repeat_frame();
} catch (...) {
  post_exception(element_, __func__);
}

void SinkReports::master_changed(const Error &error, bool master) noexcept
{
  if (master)
    GST_INFO_OBJECT(element_, "the display is this program's again");
  else
    GST_ELEMENT_WARNING(
        element_, RESOURCE, NOT_AUTHORIZED,
        ("Frames are dropped until the display is this program's again. %s", error.message.c_str()),
        ("errno %d", error.sys_errno));
}

void SinkReports::joined_output_changed(const Error &error, bool lit) noexcept
{
  if (lit)
    GST_INFO_OBJECT(element_, "the display is on again");
  else
    GST_ELEMENT_WARNING(element_, RESOURCE, NOT_FOUND, ("%s", error.message.c_str()),
                        ("errno %d", error.sys_errno));
}

void SinkReports::picture_placed(const std::string &where) noexcept
{
  GST_INFO_OBJECT(element_, "showing on %s", where.c_str());
}

// Upstream is asked to blend by itself: the display calls formats_changed() too.
void SinkReports::overlay_refused(const Error &error) noexcept
{
  GST_ELEMENT_WARNING(element_, RESOURCE, SETTINGS, ("%s", error.message.c_str()),
                      ("errno %d; drm-stats counts refusals and copies", error.sys_errno));
}

void SinkReports::view_refused(const Error &error) noexcept
{
  GST_ELEMENT_WARNING(element_, RESOURCE, SETTINGS,
                      ("The picture stays as it was. %s", error.message.c_str()),
                      ("errno %d", error.sys_errno));
}

void SinkReports::turn_left_out(const Error &error) noexcept
{
  GST_ELEMENT_WARNING(
      element_, RESOURCE, SETTINGS,
      ("The picture is shown without the turn that its stream asks for. %s", error.message.c_str()),
      ("errno %d", error.sys_errno));
}

} // namespace gstdrm
