// SPDX-License-Identifier: LGPL-2.1-or-later
// A stream that changes its format or size in the middle, the display before and after, and states.
#include <vector>

#include "kms_support.hpp"

using namespace gstdrm::test;

namespace {

struct Step {
  const char *format;
  const char *drm_format;
  int width, height;
  int mode_width, mode_height;
};

struct Walk {
  const char *name;
  std::vector<Step> steps;
};

const Walk kWalks[] = {
    {"NV12, XR24, NV12 of one size",
     {{"NV12", "NV12", 640, 480, 640, 480},
      {"BGRx", "XR24", 640, 480, 640, 480},
      {"NV12", "NV12", 640, 480, 640, 480}}},
    {"640x480 to 1024x768 and back",
     {{"BGRx", "XR24", 640, 480, 640, 480},
      {"BGRx", "XR24", 1024, 768, 1024, 768},
      {"BGRx", "XR24", 640, 480, 640, 480}}},
    {"a smaller picture in the same mode",
     {{"BGRx", "XR24", 640, 480, 640, 480},
      {"NV12", "NV12", 320, 240, 640, 480},
      {"BGRx", "XR24", 640, 480, 640, 480}}},
};

void show_and_compare(Sink &sink, const Step &step, unsigned seed)
{
  const GstVideoInfo info = video_info(plain_caps(step.format, step.width, step.height));
  ck_assert_msg(sink.set_caps(dma_drm_caps(step.drm_format, step.width, step.height)), "%s",
                sink.next_message(GST_MESSAGE_ERROR).c_str());
  GstPtr<GstBuffer> last;
  for (unsigned i = 0; i < 6; i++) {
    last = make_noise(info, seed + i);
    ck_assert_int_eq(sink.push(to_dmabuf(info, last.get(), Shape::Tight).release()), GST_FLOW_OK);
  }
  sink.eos(); // the last frame is on screen
  const GstPtr<GstSample> sample = sink.snapshot();
  ck_assert_msg(sample, "%s", sink.next_message(GST_MESSAGE_WARNING).c_str());
  const int difference = largest_difference(
      sample.get(), reference(info, last.get(), step.mode_width, step.mode_height));
  ck_assert_msg(difference >= 0 && difference <= (GST_VIDEO_INFO_IS_RGB(&info) ? 0 : 1),
                "%s %dx%d: difference %d", step.drm_format, step.width, step.height, difference);
}

} // namespace

GST_START_TEST(test_caps_change_in_the_middle)
{
  const Walk &walk = kWalks[__i__];
  g_print("# %s\n", walk.name);
  Sink sink;
  unsigned frames = 0;
  for (const Step &step : walk.steps) {
    sink.flush(); // eos() ended the stream before
    show_and_compare(sink, step, frames);
    frames += 6;
    ck_assert_uint_eq(sink.stat("shown"), frames);
  }
  ck_assert_uint_eq(sink.stat("dropped"), 0);
  ck_assert(sink.next_message(GST_MESSAGE_ERROR).empty());
}
GST_END_TEST

// Without the end of the stream between: frames of the old format are on their way when the new one comes.
GST_START_TEST(test_caps_change_without_a_pause)
{
  const GstVideoInfo nv12 = video_info(plain_caps("NV12", 640, 480));
  const GstVideoInfo xr24 = video_info(plain_caps("BGRx", 1024, 768));
  const GstPtr<GstBuffer> a = make_noise(nv12, 1), b = make_noise(xr24, 2);
  Sink sink;
  for (unsigned round = 0; round < 5; round++) {
    ck_assert(sink.set_caps(dma_drm_caps("NV12", 640, 480)));
    for (unsigned i = 0; i < 4; i++)
      ck_assert_int_eq(sink.push(to_dmabuf(nv12, a.get(), Shape::Tight).release()), GST_FLOW_OK);
    ck_assert(sink.set_caps(dma_drm_caps("XR24", 1024, 768)));
    for (unsigned i = 0; i < 4; i++)
      ck_assert_int_eq(sink.push(to_dmabuf(xr24, b.get(), Shape::Tight).release()), GST_FLOW_OK);
  }
  sink.eos();
  ck_assert_uint_eq(sink.stat("shown"), 40);
  ck_assert_uint_eq(sink.stat("dropped"), 0);
  ck_assert_uint_le(sink.stat("held"), 1);
}
GST_END_TEST

// One stream, as a decoder would send it: other caps and other memory with the next buffer, and every step's pixels
// seen while it runs.
GST_START_TEST(test_switches_in_one_stream)
{
  static const Step kSteps[] = {
      {"NV12", "NV12", 640, 480, 640, 480},     {"BGRx", "XR24", 640, 480, 640, 480},
      {"NV12", "NV12", 640, 480, 640, 480},     {"NV12", "NV12", 1920, 1080, 1920, 1080},
      {"BGRx", "XR24", 1920, 1080, 1920, 1080}, {"NV12", "NV12", 640, 480, 640, 480},
  };
  Sink sink;
  unsigned seed = 0;
  for (const Step &step : kSteps) {
    const GstVideoInfo info = video_info(plain_caps(step.format, step.width, step.height));
    ck_assert_msg(sink.set_caps(dma_drm_caps(step.drm_format, step.width, step.height)), "%s",
                  sink.next_message(GST_MESSAGE_ERROR).c_str());
    const GstPtr<GstBuffer> picture = make_noise(info, seed++);
    for (unsigned i = 0; i < 4; i++)
      ck_assert_int_eq(sink.push(to_dmabuf(info, picture.get(), Shape::Tight).release()), GST_FLOW_OK);
    const GstPtr<GstSample> sample = sink.snapshot();
    ck_assert_msg(sample, "%s", sink.next_message(GST_MESSAGE_WARNING).c_str());
    const int difference =
        largest_difference(sample.get(), reference(info, picture.get(), step.mode_width, step.mode_height));
    ck_assert_msg(difference >= 0 && difference <= (GST_VIDEO_INFO_IS_RGB(&info) ? 0 : 1), "%s %dx%d: difference %d",
                  step.drm_format, step.width, step.height, difference);
  }
  sink.eos();
  ck_assert_uint_eq(sink.stat("shown"), 4 * G_N_ELEMENTS(kSteps));
  ck_assert_uint_eq(sink.stat("dropped"), 0);
  ck_assert(sink.next_message(GST_MESSAGE_ERROR).empty());
}
GST_END_TEST

// Snapshots of a running stream neither drop nor reorder its frames.
GST_START_TEST(test_snapshots_in_a_stream)
{
  const GstVideoInfo info = video_info(plain_caps("BGRx", 640, 480));
  std::vector<GstPtr<GstBuffer>> pool;
  for (unsigned i = 0; i < 4; i++)
    pool.push_back(to_dmabuf(info, make_noise(info, i).get(), Shape::Tight));
  Sink sink;
  ck_assert(sink.set_caps(dma_drm_caps("XR24", 640, 480)));
  ck_assert_int_eq(sink.push(gst_buffer_copy(pool[3].get())), GST_FLOW_OK); // there is a picture to take
  GThread *thread = g_thread_new(
      "snapshots",
      [](gpointer data) -> gpointer {
        guint taken = 0;
        for (guint i = 0; i < 8; i++)
          taken += static_cast<Sink *>(data)->snapshot() ? 1 : 0;
        return GUINT_TO_POINTER(taken);
      },
      &sink);
  for (unsigned i = 0; i < 90; i++)
    ck_assert_int_eq(sink.push(gst_buffer_copy(pool[i % 4].get())), GST_FLOW_OK);
  // the sink is not stopped yet: snapshots that are left over get commits of their own
  const guint taken = GPOINTER_TO_UINT(g_thread_join(thread));
  sink.eos();
  ck_assert_uint_eq(taken, 8);
  ck_assert_uint_eq(sink.stat("shown"), 91);
  ck_assert_uint_eq(sink.stat("dropped"), 0);
}
GST_END_TEST

// Preroll shows the frame, PAUSED keeps it, and PLAYING does not show it a second time.
GST_START_TEST(test_preroll_and_pause)
{
  const GstVideoInfo info = video_info(plain_caps("BGRx", 640, 480));
  const GstPtr<GstBuffer> picture = make_noise(info, 3);
  Sink sink;
  ck_assert(sink.set_state(GST_STATE_PAUSED));
  ck_assert(sink.set_caps(dma_drm_caps("XR24", 640, 480)));
  struct Push {
    Sink *sink;
    GstBuffer *buffer;
  } push{&sink, to_dmabuf(info, picture.get(), Shape::Tight).release()};
  GThread *thread = g_thread_new(
      "push",
      [](gpointer data) -> gpointer {
        auto *p = static_cast<Push *>(data);
        return GINT_TO_POINTER(p->sink->push(p->buffer));
      },
      &push);
  ck_assert_int_eq(gst_element_get_state(sink.element(), nullptr, nullptr, 10 * GST_SECOND),
                   GST_STATE_CHANGE_SUCCESS);
  const auto expected = reference(info, picture.get(), 640, 480);
  const GstPtr<GstSample> prerolled = sink.snapshot();
  ck_assert_msg(prerolled, "%s", sink.next_message(GST_MESSAGE_WARNING).c_str());
  ck_assert_int_eq(largest_difference(prerolled.get(), expected), 0);
  ck_assert_uint_eq(sink.stat("shown"), 1);

  ck_assert(sink.set_state(GST_STATE_PLAYING));
  ck_assert_int_eq(GPOINTER_TO_INT(g_thread_join(thread)), GST_FLOW_OK);
  sink.eos();
  ck_assert_uint_eq(sink.stat("shown"), 1);
  ck_assert_uint_eq(sink.stat("frames"), 1);

  ck_assert(sink.set_state(GST_STATE_READY));
  ck_assert_uint_eq(sink.stat("held"), 0);
  const GstPtr<GstSample> stopped = sink.snapshot();
  ck_assert(!stopped);
  ck_assert(!sink.next_message(GST_MESSAGE_WARNING).empty());
}
GST_END_TEST

static Suite *kms_changes_suite(void)
{
  Suite *s = suite_create("kms-changes");
  TCase *tc = tcase_create("changes");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, test_caps_change_in_the_middle, 0, G_N_ELEMENTS(kWalks));
  tcase_add_test(tc, test_caps_change_without_a_pause);
  tcase_add_test(tc, test_switches_in_one_stream);
  tcase_add_test(tc, test_snapshots_in_a_stream);
  tcase_add_test(tc, test_preroll_and_pause);
  return s;
}

GST_DRM_CHECK_MAIN(kms_changes)
