// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufconvert where no VA-API driver can be opened: it loads, its templates are open, and
// starting says what was tried.
#include <string>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-private.hpp>

#include "support/check_main.hpp"
#include "support/odd_queries.hpp"
#include "support/templates.hpp"

namespace {

using gstdrm::GstPtr;

GstPtr<GstElement> make()
{
  GstElement *element = gst_element_factory_make("vadmabufconvert", nullptr);
  fail_unless(element != nullptr);
  return GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(element)));
}

GstPtr<GstPad> pad_of(GstElement *element, const char *name)
{
  return GstPtr<GstPad>::adopt(gst_element_get_static_pad(element, name));
}

GST_START_TEST(test_templates_without_a_device)
{
  const auto element = make();
  for (const char *name : {"sink", "src"}) {
    const auto caps =
        GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(pad_of(element.get(), name).get()));
    const GstStructure *structure = gst_caps_get_structure(caps.get(), 0);
    fail_unless(gst_caps_features_contains(gst_caps_get_features(caps.get(), 0), "memory:DMABuf"));
    fail_unless_equals_string(gst_structure_get_string(structure, "format"), "DMA_DRM");
    fail_if(gst_structure_has_field(structure, "drm-format"), "%" GST_PTR_FORMAT, caps.get());
  }
}
GST_END_TEST

// What an answer to a caps query keeps of the peer's caps, and what it frees.
struct CapsRow {
  const char *name;
  const char *filter;   // of the sink pad
  const char *possible; // caps that have to be among the answers of the source pad
  const char *impossible;
};
const CapsRow kCaps[] = {
    {"another size and format", "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12,width=64,height=48,framerate=30/1",
     "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=XR24:0x0100000000000001,width=1920,height=1080,framerate=30/1", nullptr},
    {"plain caps", "video/x-raw,format=NV12,width=64,height=48,framerate=30/1",
     "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=XR24,width=1,height=1,framerate=30/1", nullptr},
    {"another framerate", "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12,width=64,height=48,framerate=30/1", nullptr,
     "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12,width=64,height=48,framerate=60/1"},
    {"progressive alone", "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12,width=64,height=48,framerate=30/1,interlace-mode=progressive",
     "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12,width=32,height=32,framerate=30/1,interlace-mode=progressive", nullptr},
    {"interlaced frames", "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12,width=64,height=48,framerate=30/1,interlace-mode=interleaved", nullptr,
     "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=XR24,width=32,height=32,framerate=30/1"},
    {"too large", "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12,width=64,height=48,framerate=30/1", nullptr,
     "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=NV12,width=32768,height=48,framerate=30/1"},
};

GST_START_TEST(test_transform)
{
  const CapsRow &row = kCaps[__i__];
  const auto element = make();
  auto *klass = GST_BASE_TRANSFORM_GET_CLASS(element.get());
  const auto in = GstPtr<GstCaps>::adopt(gst_caps_from_string(row.filter));
  for (const GstPadDirection direction : {GST_PAD_SINK, GST_PAD_SRC}) {
    const auto out = GstPtr<GstCaps>::adopt(
        klass->transform_caps(GST_BASE_TRANSFORM(element.get()), direction, in.get(), nullptr));
    for (const char *text : {row.possible, row.impossible}) {
      if (!text)
        continue;
      const auto wanted = GstPtr<GstCaps>::adopt(gst_caps_from_string(text));
      fail_unless(gst_caps_can_intersect(out.get(), wanted.get()) == (text == row.possible),
                  "%s, %s: %" GST_PTR_FORMAT, row.name, text, out.get());
    }
  }
}
GST_END_TEST

GST_START_TEST(test_start_says_what_was_tried)
{
  const auto element = make();
  const std::string device = __i__ == 0 ? "/dev/null" : "/dev/dri/there-is-none";
  const auto bus = GstPtr<GstBus>::adopt(gst_bus_new());
  gst_element_set_bus(element.get(), bus.get());
  g_object_set(element.get(), "device", device.c_str(), nullptr);
  fail_unless_equals_int(gst_element_set_state(element.get(), GST_STATE_PAUSED),
                         GST_STATE_CHANGE_FAILURE);
  GstMessage *message = gst_bus_pop_filtered(bus.get(), GST_MESSAGE_ERROR);
  fail_unless(message != nullptr);
  g_autoptr(GError) error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  fail_unless(g_strstr_len(error->message, -1, device.c_str()) != nullptr, "%s", error->message);
  gst_message_unref(message);
  gst_element_set_bus(element.get(), nullptr);
  gst_element_set_state(element.get(), GST_STATE_NULL);
}
GST_END_TEST

GST_START_TEST(test_properties)
{
  const auto element = make();
  gst_util_set_object_arg(G_OBJECT(element.get()), "video-direction", "90r");
  g_object_set(element.get(), "num-surfaces", 9U, "add-borders", FALSE, nullptr);
  gint direction = -1;
  guint surfaces = 0;
  gboolean borders = TRUE;
  g_autofree gchar *device = nullptr;
  g_object_get(element.get(), "video-direction", &direction, "num-surfaces", &surfaces,
               "add-borders", &borders, "device", &device, nullptr);
  fail_unless_equals_int(direction, GST_VIDEO_ORIENTATION_90R);
  fail_unless_equals_int(static_cast<gint>(surfaces), 9);
  fail_if(borders);
  fail_unless(device == nullptr);
  GstStructure *stats = nullptr;
  g_object_get(element.get(), "drm-stats", &stats, nullptr);
  for (const char *field : {"frames", "imports", "import-hits", "copies", "bytes-copied", "waits",
                            "surfaces", "exports", "va-calls"})
    fail_unless(gst_structure_has_field(stats, field), "%s", field);
  gst_structure_free(stats);
}
GST_END_TEST

// Queries and events that nobody should send, in NULL; tests/device/va/va_convert_odd.cpp has the
// other states.
GST_START_TEST(test_odd_queries)
{
  const auto element = make();
  const auto pad = pad_of(element.get(), __i__ == 0 ? "sink" : "src");
  gstdrm::test::ask_everything(pad.get(), gstdrm::test::could_be_sent);
  gstdrm::test::send_odd_events(pad.get());
}
GST_END_TEST

GST_START_TEST(test_largest_size)
{
  gstdrm::test::check_template_sizes("vadmabufconvert");
}
GST_END_TEST

Suite *vadmabufconvert_suite()
{
  g_setenv("LIBVA_DRIVER_NAME", "there-is-no-such-driver", TRUE);
  Suite *suite = suite_create("vadmabufconvert");
  TCase *tcase = tcase_create("no device");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_largest_size);
  tcase_add_test(tcase, test_templates_without_a_device);
  tcase_add_loop_test(tcase, test_transform, 0, G_N_ELEMENTS(kCaps));
  tcase_add_loop_test(tcase, test_start_says_what_was_tried, 0, 2);
  tcase_add_test(tcase, test_properties);
  tcase_add_loop_test(tcase, test_odd_queries, 0, 2);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(vadmabufconvert)
