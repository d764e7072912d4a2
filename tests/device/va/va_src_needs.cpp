// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufsrc before consumers: how many of its frames they may hold, and what they ask for beyond their caps.
#include <vector>

#include "support/consumer.hpp"
#include "va_support.hpp"

namespace {

using namespace gstdrm::test;

// ---- how many frames may be held

// Downstream's answer to the allocation query: it keeps five buffers.
GstPadProbeReturn keep_five(GstPad *, GstPadProbeInfo *info, gpointer)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_pool(query, nullptr, 0, 5, 0);
  return GST_PAD_PROBE_HANDLED;
}

struct HeldRow {
  const char *driver;
  bool keeps_five;
  int held;
};
const HeldRow kHeld[] = {
    {"formats=NV12", true, 6},             // what downstream keeps, and the one that is drawn
    {"formats=NV12,surfaces=5", false, 3}, // all that there are: the counter's pictures have two
};

// So many frames are held at once, and the stream goes on.
GST_START_TEST(test_frames_that_are_held)
{
  const auto &row = kHeld[__i__];
  set_driver(row.driver);
  Pipeline pipeline(source("num-surfaces=2 pattern=frame-counter", dma_caps("NV12", 64, 64)));
  if (row.held == 3)
    g_object_set(pipeline.get("src"), "num-surfaces", 6, nullptr);
  GstPad *pad = gst_element_get_static_pad(pipeline.get("src"), "src");
  if (row.keeps_five)
    gst_pad_add_probe(
        pad,
        static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH),
        keep_five, nullptr, nullptr);
  gst_object_unref(pad);
  fail_unless(pipeline.play());
  std::vector<GstSample *> held;
  for (int i = 0; i < row.held; ++i) {
    held.push_back(pipeline.pull());
    fail_unless(held.back() != nullptr);
  }
  for (GstSample *sample : held)
    gst_sample_unref(sample);
  g_autoptr(GstSample) next = pipeline.pull();
  fail_unless(next != nullptr);
}
GST_END_TEST

// ---- what a consumer asks for beyond its caps

struct NeedRow {
  const char *driver;
  Consumer consumer;
  const char *error; // part of it; "": the stream runs
  const char *drm_format = "NV12";
};
const NeedRow kNeeds[] = {
    {"formats=NV12,stride-align=512", {"display", 512, 0}, ""},
    {"formats=NV12,stride-align=64", {"display", 512, 0}, "makes plane 0 with a stride of 64 bytes, and display asks for a multiple of 512"},
    {"formats=NV12,modifiers=samsung,stride-align=64", {"display", 512, 0}, "and display asks for a multiple of 512", "NV12:0x0400000000000001"},
    {"formats=NV12", {"display", 48, 0}, "Let display on /dev/dri/card7 ask for 64 bytes as stride-align"},
    {"formats=NV12", {"recorder", 0, 9}, ""},
};

GST_START_TEST(test_needs_of_a_consumer)
{
  const auto &row = kNeeds[__i__];
  set_driver(row.driver);
  Pipeline pipeline(source("num-surfaces=2", dma_caps(row.drm_format, 64, 64)));
  g_autoptr(GstSample) sample = first_frame_for(row.consumer, pipeline, "src", row.error);
  if (!sample)
    return;
  GstBuffer *buffer = gst_sample_get_buffer(sample);
  if (row.consumer.stride_align > 0)
    fail_unless_equals_int(gst_buffer_get_video_meta(buffer)->stride[0] % static_cast<int>(row.consumer.stride_align), 0);
  fail_unless_equals_int(static_cast<int>(most_of_pool(buffer)), row.consumer.buffers_held > 0 ? 10 : 2);
}
GST_END_TEST

// Downstream asks for more, or knows no GstVideoMeta, from some frame on, with the caps that it had: the pool is made anew.
GST_START_TEST(test_needs_that_grow)
{
  static const Consumer kRecorder{"recorder", 0, 9};
  set_driver("formats=NV12");
  Pipeline pipeline(source("num-surfaces=2", dma_caps("NV12", 64, 64), "appsink name=sink sync=false max-buffers=1"));
  fail_unless(pipeline.play());
  g_autoptr(GstSample) before = pipeline.pull();
  fail_unless(before != nullptr);
  fail_unless_equals_int(static_cast<int>(most_of_pool(gst_sample_get_buffer(before))), 2);
  g_clear_pointer(&before, gst_sample_unref);
  g_autoptr(GstPad) pad = gst_element_get_static_pad(pipeline.get("src"), "src");
  answer_as(pad, kRecorder);
  fail_unless(gst_pad_send_event(pad, gst_event_new_reconfigure()));
  guint most = 0;
  for (int i = 0; i < 20 && most != 10; ++i) { // frames that are on their way
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr, "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
    most = static_cast<guint>(most_of_pool(gst_sample_get_buffer(sample)));
  }
  fail_unless_equals_int(static_cast<int>(most), 10);
}
GST_END_TEST

Suite *va_src_needs_suite()
{
  Suite *suite = suite_create("vadmabufsrc needs");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_frames_that_are_held, 0, G_N_ELEMENTS(kHeld));
  tcase_add_loop_test(tcase, test_needs_of_a_consumer, 0, G_N_ELEMENTS(kNeeds));
  tcase_add_test(tcase, test_needs_that_grow);
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_src_needs)
