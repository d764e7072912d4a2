// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_hotplug_support.hpp"

namespace gstdrm::test {

namespace {

constexpr GstClockTime kPatience = 20 * GST_SECOND;

} // namespace

GstPtr<GstMessage> wait_for(Sink &sink, GstMessageType types)
{
  GstBus *bus = gst_element_get_bus(sink.element());
  auto message = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(bus, kPatience, types));
  gst_object_unref(bus);
  ck_assert_msg(message, "no message came");
  return message;
}

void expect_hotplug(Sink &sink, const std::string &connector, bool connected)
{
  const GstPtr<GstMessage> message = wait_for(sink, GST_MESSAGE_ELEMENT);
  const GstStructure *structure = gst_message_get_structure(message.get());
  ck_assert_str_eq(gst_structure_get_name(structure), "kms-hotplug");
  ck_assert_str_eq(gst_structure_get_string(structure, "connector"), connector.c_str());
  gboolean value = FALSE;
  ck_assert(gst_structure_get_boolean(structure, "connected", &value));
  ck_assert_int_eq(value, connected);
}

} // namespace gstdrm::test
