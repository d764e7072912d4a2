// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufsrc where no VA-API driver can be opened: it loads, its template is open, and starting says what was tried.
#include <string>

#include "support/check_main.hpp"
#include "support/odd_queries.hpp"
#include "support/templates.hpp"

#include <gst/drm/drm.h>

namespace {

GST_START_TEST(test_template_without_a_device)
{
  GstElement *src = gst_element_factory_make("vadmabufsrc", nullptr);
  fail_unless(src != nullptr);
  GstPad *pad = gst_element_get_static_pad(src, "src");
  GstCaps *caps = gst_pad_get_pad_template_caps(pad);
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  fail_unless(gst_caps_features_contains(gst_caps_get_features(caps, 0), "memory:DMABuf"));
  fail_unless_equals_string(gst_structure_get_string(structure, "format"), "DMA_DRM");
  fail_if(gst_structure_has_field(structure, "drm-format"), "%" GST_PTR_FORMAT, caps);
  gst_caps_unref(caps);
  gst_object_unref(pad);
  gst_object_unref(src);
}
GST_END_TEST

GST_START_TEST(test_start_says_what_was_tried)
{
  GstElement *src = gst_element_factory_make("vadmabufsrc", nullptr);
  const std::string device = __i__ == 0 ? "/dev/null" : "/dev/dri/there-is-none";
  GstBus *bus = gst_bus_new();
  gst_element_set_bus(src, bus);
  g_object_set(src, "device", device.c_str(), nullptr);
  // a source without a peer starts when it is activated
  fail_unless_equals_int(gst_element_set_state(src, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  fail_unless(message != nullptr);
  GError *error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  fail_unless(g_strstr_len(error->message, -1, device.c_str()) != nullptr, "%s", error->message);
  g_error_free(error);
  gst_message_unref(message);
  gst_element_set_bus(src, nullptr);
  gst_object_unref(bus);
  gst_element_set_state(src, GST_STATE_NULL);
  gst_object_unref(src);
}
GST_END_TEST

GST_START_TEST(test_properties)
{
  GstElement *src = gst_element_factory_make("vadmabufsrc", nullptr);
  gst_util_set_object_arg(G_OBJECT(src), "pattern", "frame-counter");
  gst_util_set_object_arg(G_OBJECT(src), "zero-copy", "require");
  g_object_set(src, "num-surfaces", 9U, "is-live", TRUE, "color", 0x80112233U, nullptr);
  gint pattern = 0;
  guint surfaces = 0;
  guint color = 0;
  gboolean live = FALSE;
  g_autofree gchar *device = nullptr;
  g_object_get(src, "pattern", &pattern, "num-surfaces", &surfaces, "is-live", &live, "color", &color, "device", &device,
               nullptr);
  fail_unless_equals_int(pattern, 5);
  fail_unless_equals_int(static_cast<gint>(surfaces), 9);
  fail_unless(live);
  fail_unless(color == 0x80112233U);
  fail_unless(device == nullptr);
  GstStructure *stats = nullptr;
  g_object_get(src, "drm-stats", &stats, nullptr);
  for (const char *field : {"frames", "copies", "bytes-copied", "waits", "surfaces", "exports", "va-calls"})
    fail_unless(gst_structure_has_field(stats, field), "%s", field);
  gst_structure_free(stats);
  gst_object_unref(src);
}
GST_END_TEST

// Queries and events that nobody should send, in NULL; tests/device/va/va_odd_queries.cpp has the other states.
GST_START_TEST(test_odd_queries)
{
  GstElement *src = gst_element_factory_make("vadmabufsrc", nullptr);
  GstPad *pad = gst_element_get_static_pad(src, "src");
  gstdrm::test::ask_everything(pad, gstdrm::test::could_be_sent);
  gstdrm::test::send_odd_events(pad);
  gst_object_unref(pad);
  gst_object_unref(src);
}
GST_END_TEST

GST_START_TEST(test_largest_size)
{
  gstdrm::test::check_template_sizes("vadmabufsrc");
}
GST_END_TEST

Suite *vadmabufsrc_suite()
{
  g_setenv("LIBVA_DRIVER_NAME", "there-is-no-such-driver", TRUE);
  Suite *suite = suite_create("vadmabufsrc");
  TCase *tcase = tcase_create("no device");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_largest_size);
  tcase_add_test(tcase, test_template_without_a_device);
  tcase_add_loop_test(tcase, test_start_says_what_was_tried, 0, 2);
  tcase_add_test(tcase, test_properties);
  tcase_add_test(tcase, test_odd_queries);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(vadmabufsrc)
