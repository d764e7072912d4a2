// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufsrc live and not, on virtual time: when each frame leaves, and that it does not wait for
// the device.
#include <cstdio>

#include <gst/drm/core/unique_fd.hpp>

#include "va_support.hpp"

namespace {

using namespace gstdrm::test;

struct Left {
  GstClockTime pts;
  GstClockTime running_time;
};

// In the streaming thread; the vector is read after the end of the stream.
GstPadProbeReturn note_time(GstPad *pad, GstPadProbeInfo *info, gpointer list)
{
  GstElement *element = GST_PAD_PARENT(pad);
  g_autoptr(GstClock) clock = gst_element_get_clock(element);
  const GstClockTime now =
      clock ? gst_clock_get_time(clock) - gst_element_get_base_time(element) : 0;
  static_cast<std::vector<Left> *>(list)->push_back(
      {GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info)), now});
  return GST_PAD_PROBE_OK;
}

struct Row {
  const char *driver;
  const char *rate;
  bool live;
};
const Row kRows[] = {
    {"formats=NV12", "10/1", true},
    {"formats=NV12", "60/1", true},
    {"formats=NV12", "30000/1001", true},
    {"formats=NV12,async=5,fences=0", "25/1", true}, // drawn ahead, and not early for that
    {"formats=NV12", "10/1", false},
};
constexpr guint kFrames = 30;

GST_START_TEST(test_frames_leave_in_time)
{
  const auto &row = kRows[__i__];
  set_driver(row.driver);
  Pipeline pipeline(source(
      std::string("pattern=frame-counter num-buffers=30 is-live=") + (row.live ? "true" : "false"),
      dma_caps("NV12", 128, 104) + ",framerate=" + row.rate, "fakesink name=sink sync=false"));
  std::vector<Left> left;
  GstPad *pad = gst_element_get_static_pad(pipeline.get("src"), "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, note_time, &left, nullptr);
  gst_object_unref(pad);
  fail_unless(pipeline.play());
  fail_unless(pipeline.wait_for_end() == "eos");
  fail_unless_equals_int(static_cast<int>(left.size()), kFrames);
  gint n = 0;
  gint d = 0;
  fail_unless(std::sscanf(row.rate, "%d/%d", &n, &d) == 2);
  for (guint i = 0; i < kFrames; ++i) {
    const auto due =
        gst_util_uint64_scale(i, GST_SECOND * static_cast<guint64>(d), static_cast<guint64>(n));
    const auto next =
        gst_util_uint64_scale(i + 1, GST_SECOND * static_cast<guint64>(d), static_cast<guint64>(n));
    // GstBaseSrc moves a live source's times by the running time of its first frame.
    const auto begun = row.live ? left[0].pts : 0;
    fail_unless_equals_uint64(left[i].pts, due + begun);
    const auto late = GST_CLOCK_DIFF(due + begun, left[i].running_time);
    fail_unless(!row.live || (late >= 0 && late < GST_CLOCK_DIFF(due, next)),
                "frame %u, due at %" GST_TIME_FORMAT ", left at %" GST_TIME_FORMAT, i,
                GST_TIME_ARGS(due + begun), GST_TIME_ARGS(left[i].running_time));
  }
  const auto last = left.back();
  // frames' times in the message: what slept is known by how long it was
  fail_unless(row.live || last.running_time < last.pts,
              "not live, it does not wait for the clock: left at %" GST_TIME_FORMAT
              ", %" GST_TIME_FORMAT ", %" GST_TIME_FORMAT " ... %" GST_TIME_FORMAT,
              GST_TIME_ARGS(left[0].running_time), GST_TIME_ARGS(left[1].running_time),
              GST_TIME_ARGS(left[2].running_time), GST_TIME_ARGS(last.running_time));
  GstQuery *query = gst_query_new_latency();
  fail_unless_equals_int(gst_element_query(pipeline.get("src"), query), TRUE);
  gboolean live = FALSE;
  GstClockTime latency = 0;
  gst_query_parse_latency(query, &live, &latency, nullptr);
  gst_query_unref(query);
  fail_unless_equals_int(live, row.live);
  const auto one_frame =
      gst_util_uint64_scale(1, GST_SECOND * static_cast<guint64>(d), static_cast<guint64>(n));
  fail_unless_equals_uint64(latency, one_frame);
  gint64 duration = 0;
  fail_unless(gst_element_query_duration(pipeline.get("src"), GST_FORMAT_TIME, &duration));
  fail_unless_equals_uint64(static_cast<guint64>(duration),
                            gst_util_uint64_scale(kFrames, GST_SECOND * static_cast<guint64>(d),
                                                  static_cast<guint64>(n)));
}
GST_END_TEST

// The length of a frame is known with the caps: the pipeline is told to ask again.
GST_START_TEST(test_latency_is_told)
{
  const bool live = __i__ == 1;
  set_driver("formats=NV12");
  Pipeline pipeline(source(std::string("num-buffers=3 is-live=") + (live ? "true" : "false"),
                           dma_caps("NV12", 64, 48) + ",framerate=30/1",
                           "fakesink name=sink sync=false"));
  fail_unless(pipeline.play());
  g_autoptr(GstBus) bus = gst_element_get_bus(GST_ELEMENT(GST_ELEMENT_PARENT(pipeline.get("src"))));
  bool told = false;
  for (bool over = false; !over;) {
    g_autoptr(GstMessage) message = gst_bus_timed_pop(bus, 200 * GST_SECOND);
    fail_unless(message != nullptr);
    over = GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS ||
           GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR;
    told = told || (GST_MESSAGE_TYPE(message) == GST_MESSAGE_LATENCY &&
                    GST_MESSAGE_SRC(message) == GST_OBJECT(pipeline.get("src")));
  }
  fail_unless_equals_int(told, live);
}
GST_END_TEST

bool seek(Pipeline &pipeline, gdouble rate, GstClockTime start, GstClockTime stop)
{
  return gst_element_seek(pipeline.get("sink"), rate, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
                          GST_SEEK_TYPE_SET, static_cast<gint64>(start), GST_SEEK_TYPE_SET,
                          static_cast<gint64>(stop)) != FALSE;
}

struct SeekRow {
  GstClockTime start;
  GstClockTime stop;
  GstClockTime first; // frame
  guint frames;
};
// after the end of a stream of 3 s at 10 frames per second
constexpr SeekRow kSeeks[] = {
    {0, GST_CLOCK_TIME_NONE, 0, 30},
    {1050 * GST_MSECOND, GST_CLOCK_TIME_NONE, 1000 * GST_MSECOND, 20},
    {500 * GST_MSECOND, 1000 * GST_MSECOND, 500 * GST_MSECOND, 5},
    {2900 * GST_MSECOND, GST_CLOCK_TIME_NONE, 2900 * GST_MSECOND, 1},
    {10 * GST_SECOND, GST_CLOCK_TIME_NONE, 0, 0},
};

GST_START_TEST(test_seeks)
{
  set_driver("formats=NV12,async=5,fences=0"); // draws ahead
  Pipeline pipeline(source("pattern=frame-counter num-buffers=30",
                           dma_caps("NV12", 128, 104) + ",framerate=10/1",
                           "fakesink name=sink sync=false"));
  std::vector<Left> left;
  GstPad *pad = gst_element_get_static_pad(pipeline.get("src"), "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, note_time, &left, nullptr);
  gst_object_unref(pad);
  // before there are caps
  fail_unless(gst_element_set_state(pipeline.get("src"), GST_STATE_READY) ==
              GST_STATE_CHANGE_SUCCESS);
  fail_unless(gst_element_send_event(pipeline.get("src"),
                                     gst_event_new_seek(1, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
                                                        GST_SEEK_TYPE_SET, 2 * GST_SECOND,
                                                        GST_SEEK_TYPE_NONE, -1)));
  fail_unless(pipeline.play());
  fail_unless(pipeline.wait_for_end() == "eos");
  fail_unless_equals_int(left.size(), 10);
  fail_unless_equals_uint64(left.front().pts, 2 * GST_SECOND);
  for (const SeekRow &row : kSeeks) {
    left.clear();
    fail_unless(seek(pipeline, 1, row.start, row.stop));
    fail_unless(pipeline.wait_for_end() == "eos");
    fail_unless_equals_int(left.size(), row.frames);
    for (guint i = 0; i < row.frames; i++)
      fail_unless_equals_uint64(left[i].pts, row.first + i * 100 * GST_MSECOND);
  }
  fail_if(seek(pipeline, -1, 0, 3 * GST_SECOND));
}
GST_END_TEST

GST_START_TEST(test_live_has_no_past)
{
  set_driver("formats=NV12");
  Pipeline pipeline(source("num-buffers=3 is-live=true",
                           dma_caps("NV12", 128, 104) + ",framerate=10/1",
                           "fakesink name=sink sync=false"));
  fail_unless(pipeline.play());
  fail_unless(pipeline.wait_for_end() == "eos");
  fail_if(seek(pipeline, 1, 0, GST_CLOCK_TIME_NONE));
}
GST_END_TEST

// The device takes a second for the picture, and the frame leaves before: with a fence that is
// pending.
GST_START_TEST(test_acquire_fence_is_pending)
{
  const Counters counters;
  set_driver("formats=NV12,async=1000," + counters.setting());
  Pipeline pipeline(source("num-buffers=1 pattern=frame-counter", dma_caps("NV12", 64, 64)));
  fail_unless(pipeline.play());
  g_autoptr(GstSample) sample = pipeline.pull();
  fail_unless(sample != nullptr);
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(gst_sample_get_buffer(sample));
  fail_unless(meta != nullptr);
  const gstdrm::UniqueFd fence(gst_drm_sync_meta_dup_acquire_fence(meta));
  fail_unless(static_cast<bool>(fence), "the frame was pushed before the device was done");
  GstDrmFenceState state = GST_DRM_FENCE_STATE_SIGNALLED;
  fail_unless(gst_drm_fence_get_state(fence.get(), &state, nullptr));
  fail_unless_equals_int(state, GST_DRM_FENCE_STATE_PENDING);
  fail_unless(gst_drm_fence_wait(fence.get(), GST_CLOCK_TIME_NONE, &state, nullptr));
  fail_unless_equals_int(state, GST_DRM_FENCE_STATE_SIGNALLED);
  fail_unless(read_counter(read_frame(sample)).valid);
  fail_unless_equals_uint64(counters[vadriver::Counter::Sync], 0);
}
GST_END_TEST

// A pause ends the wait for the device, when the frame behind is drawn already. The stream then
// goes on with the frame that nobody has got, in order.
GST_START_TEST(test_paused_while_it_waits)
{
  set_driver("formats=NV12,async=1000,fences=0");
  Pipeline pipeline(source("num-buffers=4 is-live=true pattern=frame-counter",
                           dma_caps("NV12", 64, 64) + ",framerate=1/5"));
  fail_unless(pipeline.play());
  while (pipeline.stat("waits") == 0) // then both frames are begun
    g_thread_yield();
  GstElement *top = GST_ELEMENT(gst_element_get_parent(pipeline.get("src")));
  gst_element_set_state(top, GST_STATE_PAUSED);
  gst_element_set_state(top, GST_STATE_PLAYING);
  gst_object_unref(top);
  for (std::uint64_t i = 0; i < 4; ++i) {
    g_autoptr(GstSample) sample = pipeline.pull();
    fail_unless(sample != nullptr);
    const auto counter = read_counter(read_frame(sample));
    fail_unless(counter.valid);
    fail_unless_equals_uint64(counter.frame, GST_BUFFER_OFFSET(gst_sample_get_buffer(sample)));
    fail_unless_equals_uint64(counter.frame, i);
  }
}
GST_END_TEST

Suite *va_live_suite()
{
  Suite *suite = suite_create("vadmabufsrc live");
  TCase *tcase = tcase_create("virtual time");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_latency_is_told, 0, 2);
  tcase_add_loop_test(tcase, test_frames_leave_in_time, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tcase, test_acquire_fence_is_pending);
  tcase_add_test(tcase, test_seeks);
  tcase_add_test(tcase, test_live_has_no_past);
  tcase_add_test(tcase, test_paused_while_it_waits);
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_live)
