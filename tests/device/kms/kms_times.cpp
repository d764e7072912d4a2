// SPDX-License-Identifier: LGPL-2.1-or-later
// Times that are no plain stream: GAP events before, between and after frames, segments of other rates and of time that
// is left out. On virtual time, where nothing is late because the machine is busy.
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

#include "kms_clocked.hpp"
#include "kms_image.hpp"
#include "support/box_time.hpp"
#include "support/threads.hpp"

using namespace gstdrm::test;

namespace {

constexpr GstClockTime kStart = 200 * GST_MSECOND;
constexpr GstClockTime kFrame = 50 * GST_MSECOND; // several refreshes
constexpr GstClockTime kRefresh = 17 * GST_MSECOND;


GstVideoInfo picture_info()
{
  return video_info(plain_caps("BGRx", 640, 480));
}

// What upstream's pad sends.
bool send(const Sink &sink, GstEvent *event)
{
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.element(), "sink"));
  const auto peer = GstPtr<GstPad>::adopt(gst_pad_get_peer(pad.get()));
  return gst_pad_push_event(peer.get(), event) != FALSE;
}

bool is_on_screen(Sink &sink, GstBuffer *picture)
{
  const GstPtr<GstSample> sample = sink.snapshot();
  return sample && largest_difference(sample.get(), reference(picture_info(), picture, 640, 480)) == 0;
}

GstState state_of(const Sink &sink)
{
  GstState state = GST_STATE_VOID_PENDING;
  gst_element_get_state(sink.element(), &state, nullptr, 0);
  return state;
}

// Frames that the display saw, none late, none left out.
void expect_all_shown(Sink &sink, guint frames)
{
  ck_assert_uint_eq(sink.stat("shown"), frames);
  ck_assert_uint_eq(sink.stat("dropped"), 0);
  ck_assert_uint_eq(sink.stat("late"), 0);
  ck_assert(sink.next_message(static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING)).empty());
}

} // namespace

// A gap takes its time, leaves the picture on screen and costs no frame.
GST_START_TEST(test_gaps)
{
  const GstVideoInfo info = picture_info();
  ClockedStream stream("", dma_drm_caps("XR24", 640, 480), info, kStart);
  Sink &sink = stream.sink;
  const guint64 begin = now_ns();
  ck_assert(send(sink, gst_event_new_gap(0, kStart + 2 * kFrame)));
  ck_assert_int_eq(state_of(sink), GST_STATE_PLAYING); // without a frame
  ck_assert(!sink.snapshot());                          // nothing is on screen
  ck_assert(!sink.next_message(GST_MESSAGE_WARNING).empty());
  guint frames = 0;
  for (guint i = 2; i < 30; i += 6) { // a snapshot takes some refreshes
    stream.push(i * kFrame, kFrame);
    frames++;
    ck_assert(send(sink, gst_event_new_gap(kStart + (i + 1) * kFrame, kFrame)));
    ck_assert(is_on_screen(sink, make_noise(info, 1).get()));
  }
  ck_assert(send(sink, gst_event_new_gap(kStart + 32 * kFrame, GST_CLOCK_TIME_NONE))); // nobody knows how long
  sink.eos();
  expect_all_shown(sink, frames);
  ck_assert_uint_ge(now_ns() - begin, kStart + 28 * kFrame);
  ck_assert_uint_le(now_ns() - begin, kStart + 36 * kFrame);
}
GST_END_TEST

namespace {

struct End {
  const char *name;
  std::function<void(Sink &)> run;
};

const End kEnds[] = {
    {"flush", [](Sink &sink) { sink.flush(); }},
    {"NULL", [](Sink &sink) { ck_assert(sink.set_state(GST_STATE_NULL)); }},
    {"READY", [](Sink &sink) { ck_assert(sink.set_state(GST_STATE_READY)); }},
};

} // namespace

// A gap of an hour, in PAUSED and in PLAYING: another thread ends the wait. Virtual time would pass the hour at once if both
// threads slept, so this one never does.
GST_START_TEST(test_a_gap_is_ended)
{
  const End &end = kEnds[__i__ % G_N_ELEMENTS(kEnds)];
  const bool paused = __i__ >= static_cast<int>(G_N_ELEMENTS(kEnds));
  g_print("# %s in %s\n", end.name, paused ? "PAUSED" : "PLAYING");
  constexpr GstClockTime kHour = 3600 * GST_SECOND;
  ClockedStream stream("", dma_drm_caps("XR24", 640, 480), picture_info(), kStart);
  Sink &sink = stream.sink;
  if (paused)
    ck_assert(sink.set_state(GST_STATE_PAUSED));
  const guint64 begin = now_ns();
  std::atomic<pid_t> waits{0};
  std::thread upstream([&] {
    waits = gettid();
    (void)send(sink, gst_event_new_gap(kHour, kHour));
  });
  while (waits == 0 || state_of_thread(waits) != 'S')
    std::this_thread::yield();
  end.run(sink);
  upstream.join();
  ck_assert_uint_lt(now_ns() - begin, kHour);
  ck_assert(sink.next_message(GST_MESSAGE_ERROR).empty());
}
GST_END_TEST

namespace {

struct Rate {
  const char *name;
  gdouble rate;
  GstSegmentFlags flags;
};

const Rate kRates[] = {
    {"half", 0.5, GST_SEGMENT_FLAG_NONE},
    {"twice", 2.0, GST_SEGMENT_FLAG_NONE},
    {"twice, some frames left out upstream", 2.0, GST_SEGMENT_FLAG_TRICKMODE},
    {"backwards", -1.0, GST_SEGMENT_FLAG_NONE},
    {"backwards at twice the rate", -2.0, GST_SEGMENT_FLAG_TRICKMODE},
};

} // namespace

// Frames of one kFrame of running time each, whatever the rate: they are shown at that pace.
GST_START_TEST(test_rates)
{
  const Rate &row = kRates[__i__];
  g_print("# %s\n", row.name);
  constexpr guint kFrames = 20;
  ClockedStream stream("", dma_drm_caps("XR24", 640, 480), picture_info(), 0);
  Sink &sink = stream.sink;
  const auto speed = row.rate < 0 ? -row.rate : row.rate;
  const auto duration = static_cast<GstClockTime>(static_cast<gdouble>(kFrame) * speed);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.rate = row.rate;
  segment.flags = row.flags;
  segment.start = 0;
  segment.stop = kFrames * duration;
  segment.position = row.rate < 0 ? segment.stop : 0;
  segment.base = kStart; // running time of the first frame
  ck_assert(send(sink, gst_event_new_segment(&segment)));
  const guint64 begin = now_ns();
  for (guint i = 0; i < kFrames; i++) {
    const guint at = row.rate < 0 ? kFrames - 1 - i : i;
    stream.push(at * duration, duration);
  }
  sink.eos();
  const guint64 took = now_ns() - begin;
  expect_all_shown(sink, kFrames);
  ck_assert_msg(took >= kStart + (kFrames - 1) * kFrame && took <= kStart + (kFrames + 1) * kFrame + 2 * kRefresh,
                "%s: %" G_GUINT64_FORMAT " ns", row.name, took);
}
GST_END_TEST

// Time that no frame has, and time that a second segment leaves out: each frame comes when its segment says.
GST_START_TEST(test_segments_with_gaps)
{
  ClockedStream stream("", dma_drm_caps("XR24", 640, 480), picture_info(), 0);
  Sink &sink = stream.sink;
  const guint64 begin = now_ns();
  guint frames = 0;
  GstClockTime running = kStart;
  for (const GstClockTime jump : {0 * kFrame, 10 * kFrame, 72000 * kFrame}) { // in the stream, not in running time
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    segment.start = jump;
    segment.time = jump;
    segment.base = running;
    ck_assert(send(sink, gst_event_new_segment(&segment)));
    for (guint i = 0; i < 8; i += 4) { // three frames are missing after each
      stream.push(jump + i * kFrame, kFrame);
      frames++;
    }
    running += 8 * kFrame;
  }
  sink.eos();
  expect_all_shown(sink, frames);
  const GstClockTime last = kStart + 20 * kFrame;
  ck_assert_uint_ge(now_ns() - begin, last);
  ck_assert_uint_le(now_ns() - begin, last + 3 * kFrame);
}
GST_END_TEST

// Frames outside of their segment are left out, and said to nobody.
GST_START_TEST(test_frames_outside_of_the_segment)
{
  ClockedStream stream("", dma_drm_caps("XR24", 640, 480), picture_info(), 0);
  Sink &sink = stream.sink;
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.start = 10 * kFrame;
  segment.stop = 12 * kFrame;
  segment.base = kStart;
  ck_assert(send(sink, gst_event_new_segment(&segment)));
  for (guint i = 8; i < 14; i++)
    stream.push(i * kFrame, kFrame);
  sink.eos();
  expect_all_shown(sink, 2);
}
GST_END_TEST

// A picture that was prerolled and is left out when it plays, because it is late by then. Its buffer comes round again with another
// picture: that one is shown.
GST_START_TEST(test_a_prerolled_buffer_comes_round_again)
{
  const GstVideoInfo info = picture_info();
  const auto clock = GstPtr<GstClock>::adopt(gst_system_clock_obtain());
  Sink sink("sync=true max-lateness=20000000");
  gst_element_set_clock(sink.element(), clock.get());
  const auto pool = GstPtr<GstBufferPool>::adopt(gst_buffer_pool_new());
  GstStructure *config = gst_buffer_pool_get_config(pool.get());
  gst_buffer_pool_config_set_params(config, nullptr, static_cast<guint>(GST_VIDEO_INFO_SIZE(&info)), 1, 1);
  ck_assert(gst_buffer_pool_set_config(pool.get(), config));
  ck_assert(gst_buffer_pool_set_active(pool.get(), TRUE));
  const auto next = [&](unsigned seed, GstClockTime time) {
    GstBuffer *buffer = nullptr;
    ck_assert_int_eq(gst_buffer_pool_acquire_buffer(pool.get(), &buffer, nullptr), GST_FLOW_OK);
    const GstPtr<GstBuffer> noise = make_noise(info, seed);
    GstMapInfo map;
    ck_assert(gst_buffer_map(noise.get(), &map, GST_MAP_READ));
    gst_buffer_fill(buffer, 0, map.data, map.size);
    gst_buffer_unmap(noise.get(), &map);
    GST_BUFFER_PTS(buffer) = time;
    GST_BUFFER_DURATION(buffer) = kFrame;
    return buffer;
  };
  g_object_set(sink.element(), "enable-last-sample", FALSE, nullptr); // or the buffer would not come round
  ck_assert(sink.set_state(GST_STATE_PAUSED));
  ck_assert(sink.set_caps(plain_caps("BGRx", 640, 480)));
  GstBuffer *first = next(1, 0);
  std::thread upstream([&] { ck_assert_int_eq(sink.push(first), GST_FLOW_OK); });
  ck_assert_int_eq(gst_element_get_state(sink.element(), nullptr, nullptr, GST_CLOCK_TIME_NONE), GST_STATE_CHANGE_SUCCESS);
  // ten seconds late
  gst_element_set_base_time(sink.element(), gst_clock_get_time(clock.get()) - 10 * GST_SECOND);
  ck_assert(sink.set_state(GST_STATE_PLAYING));
  upstream.join();
  ck_assert_uint_eq(sink.stat("dropped"), 1);
  ck_assert(is_on_screen(sink, make_noise(info, 1).get()));
  GstBuffer *second = next(2, 11 * GST_SECOND);
  ck_assert_ptr_eq(second, first);
  ck_assert_int_eq(sink.push(second), GST_FLOW_OK);
  sink.eos();
  ck_assert(is_on_screen(sink, make_noise(info, 2).get()));
  ck_assert(sink.set_state(GST_STATE_NULL));
  gst_buffer_pool_set_active(pool.get(), FALSE);
}
GST_END_TEST

namespace {

struct Lateness {
  const char *name;
  const char *properties;
  std::function<void(Sink &)> then;
};

const Lateness kLateness[] = {
    {"silence", "", [](Sink &) {}},
    {"silence, and a crop of the last one", "mode=640x480", [](Sink &) {}},
    {"silence, and a limit of the application's", "max-lateness=5000000", [](Sink &) {}},
    {"silence, and no QoS", "qos=false enable-last-sample=false", [](Sink &) {}},
    {"a frame that is not due for long", "", [](Sink &sink) { g_object_set(sink.element(), "ts-offset", gint64{10 * GST_SECOND}, nullptr); }},
    {"PAUSED", "", [](Sink &sink) { ck_assert(sink.set_state(GST_STATE_PAUSED)); }},
    {"EOS", "", [](Sink &sink) { sink.eos(); }},
    {"DRAIN", "", [](Sink &sink) {
       const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.element(), "sink"));
       const auto query = GstPtr<GstQuery>::adopt(gst_query_new_drain());
       ck_assert(gst_pad_query(pad.get(), query.get()));
     }},
};

} // namespace

// A burst of pictures that are all too late, and then none: the last of them stays on screen.
GST_START_TEST(test_the_last_late_picture_is_seen)
{
  const Lateness &row = kLateness[__i__];
  g_print("# %s\n", row.name);
  const bool is_cropped = std::string(row.name).find("crop") != std::string::npos;
  const GstVideoInfo info = picture_info();
  ClockedStream stream(row.properties, dma_drm_caps("XR24", 640, 480), info, 0);
  Sink &sink = stream.sink;
  const auto push = [&](unsigned seed, GstClockTime time) {
    GstBuffer *buffer = to_dmabuf(info, make_noise(info, seed).get(), Shape::Tight).release();
    GST_BUFFER_PTS(buffer) = time;
    GST_BUFFER_DURATION(buffer) = kFrame / 5;
    if (is_cropped && seed == 6) {
      GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta(buffer);
      crop->x = 160, crop->y = 120, crop->width = 320, crop->height = 240;
    }
    return sink.push(buffer);
  };
  const Image whole = image_of(info, make_noise(info, 6).get());
  const Image newest = is_cropped ? on_black(640, 480, cut(whole, 160, 120, 320, 240), 160, 120) : whole;
  constexpr GstClockTime kFirst = 500 * GST_MSECOND;
  ck_assert_int_eq(push(1, kFirst), GST_FLOW_OK);
  g_usleep(400'000);
  for (unsigned i = 0; i < 5; i++)
    ck_assert_int_eq(push(2 + i, kFirst + (1 + i) * kFrame / 5), GST_FLOW_OK);
  ck_assert_uint_eq(sink.stat("dropped"), 5);
  row.then(sink);
  std::thread early;
  if (std::string(row.name).find("not due") != std::string::npos)
    early = std::thread([&] { (void)push(9, kFirst + 10 * kFrame); });
  bool seen = false;
  for (int i = 0; i < 20 && !seen; i++) {
    g_usleep(20'000);
    const GstPtr<GstSample> sample = sink.snapshot();
    seen = sample && screen_of(sample.get()).pixels == newest.pixels;
  }
  ck_assert(seen);
  ck_assert_uint_le(sink.stat("shown"), 4); // the first, the last, and what DRAIN keeps of it
  ck_assert(sink.set_state(GST_STATE_NULL));
  if (early.joinable())
    early.join();
}
GST_END_TEST

static Suite *kms_times_suite(void)
{
  Suite *s = suite_create("kms-times");
  TCase *tc = tcase_create("times");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_test(tc, test_gaps);
  tcase_add_loop_test(tc, test_a_gap_is_ended, 0, 2 * G_N_ELEMENTS(kEnds));
  tcase_add_loop_test(tc, test_rates, 0, G_N_ELEMENTS(kRates));
  tcase_add_test(tc, test_segments_with_gaps);
  tcase_add_test(tc, test_frames_outside_of_the_segment);
  tcase_add_test(tc, test_a_prerolled_buffer_comes_round_again);
  tcase_add_loop_test(tc, test_the_last_late_picture_is_seen, 0, G_N_ELEMENTS(kLateness));
  return s;
}

GST_DRM_CHECK_MAIN(kms_times)
