// SPDX-License-Identifier: LGPL-2.1-or-later
// A stream as an application plays it: every frame is shown, none twice, with one commit each. On virtual time, where a
// busy machine cannot make a thread late, this is exact: once, and which vblank each frame had is asked too.
#include <algorithm>
#include <cstring>

#include "kms_support.hpp"
#include "support/box_time.hpp"

using namespace gstdrm::test;

namespace {

constexpr guint kFrames = 300;
constexpr gulong kBuffering_us = 600'000;
constexpr guint kSettled = 8;

struct Stream {
  const char *name;
  const char *caps; // frame rates are those of the mode where exactness is asked
  bool every_vblank;
};

// Clocks and totals of VESA's DMT modes: 1024x768@60 is 65000 kHz over 1344x806, 640x480@60
// 25175 kHz over 800x525, 1920x1080@60 148500 kHz over 2200x1125.
const Stream kStreams[] = {
    // NV12, as drawing XR24 of this size takes videotestsrc longer in the box than the frame lasts
    {"60 fps, NV12 1024x768", "video/x-raw, format=NV12, width=1024, height=768, framerate=60/1", false},
    {"59.94 fps, NV12 640x480",
     "video/x-raw, format=NV12, width=640, height=480, framerate=60000/1001", false},
    {"mode's rate, XR24 1024x768",
     "video/x-raw, format=BGRx, width=1024, height=768, framerate=40625000/677040", true},
    {"mode's rate, NV12 640x480",
     "video/x-raw, format=NV12, width=640, height=480, framerate=25175000/420000", true},
    {"mode's rate, NV12 64x64", "video/x-raw, format=NV12, width=64, height=64, framerate=25175000/420000",
     true},
};

// What the sink had shown when each buffer arrived. A vblank has at most one flip, so where as many frames as
// vblanks went by between two looks, each of these frames was on screen for exactly one.
struct Arrivals {
  GstElement *sink = nullptr;
  guint count = 0;
  guint64 shown[kFrames + 1] = {};
  guint sequence[kFrames + 1] = {};
};

void read_flips(GstElement *sink, guint64 *shown, guint *sequence)
{
  GstStructure *stats = nullptr;
  g_object_get(sink, "drm-stats", &stats, nullptr);
  gst_structure_get_uint64(stats, "shown", shown);
  gst_structure_get_uint(stats, "last-flip-sequence", sequence);
  gst_structure_free(stats);
}

// Before the sink waits for the buffer's time: what is read belongs to the frames before it.
GstPadProbeReturn on_buffer(GstPad *, GstPadProbeInfo *, gpointer data)
{
  auto *arrivals = static_cast<Arrivals *>(data);
  if (arrivals->count <= kFrames)
    read_flips(arrivals->sink, &arrivals->shown[arrivals->count], &arrivals->sequence[arrivals->count]);
  arrivals->count++;
  return GST_PAD_PROBE_OK;
}

struct Player {
  GstElement *pipeline = nullptr;
  GstElement *sink = nullptr;

  explicit Player(const std::string &line)
  {
    GError *error = nullptr;
    pipeline = gst_parse_launch(line.c_str(), &error);
    ck_assert_msg(pipeline && !error, "%s", error ? error->message : "?");
    sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  }
  ~Player()
  {
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(sink);
    gst_object_unref(pipeline);
  }
  // As players do: paused until there is something to play from.
  void play_to_end(guint seconds)
  {
    gst_element_set_state(pipeline, GST_STATE_PAUSED);
    gst_element_get_state(pipeline, nullptr, nullptr, seconds * GST_SECOND);
    g_usleep(kBuffering_us);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    GstBus *bus = gst_element_get_bus(pipeline);
    const auto message = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(
        bus, seconds * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
    gst_object_unref(bus);
    ck_assert_msg(message, "no end within %u s", seconds);
    if (GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_ERROR) {
      GError *error = nullptr;
      gst_message_parse_error(message.get(), &error, nullptr);
      ck_abort_msg("%s", error->message);
    }
  }
  [[nodiscard]] guint64 stat(const char *name) const
  {
    GstStructure *stats = nullptr;
    g_object_get(sink, "drm-stats", &stats, nullptr);
    guint64 value = 0;
    ck_assert_msg(gst_structure_get_uint64(stats, name, &value), "no %s", name);
    gst_structure_free(stats);
    return value;
  }
};

} // namespace

namespace {

std::string pipeline_of(const Stream &stream)
{
  return std::string("videotestsrc pattern=black num-buffers=") + std::to_string(kFrames) + " ! " + stream.caps +
         " ! queue max-size-buffers=6 max-size-bytes=0 max-size-time=0 ! "
         "kmsdmabufsink name=sink mode=match driver-name=vkms";
}

// 300 of 300, one commit each, without a copy, since videotestsrc writes into the sink's own pool.
bool all_shown(const Player &player)
{
  g_print("# shown %" G_GUINT64_FORMAT ", dropped %" G_GUINT64_FORMAT ", late %" G_GUINT64_FORMAT
          ", commits %" G_GUINT64_FORMAT ", imports %" G_GUINT64_FORMAT ", copies %" G_GUINT64_FORMAT "\n",
          player.stat("shown"), player.stat("dropped"), player.stat("late"), player.stat("commits"),
          player.stat("imports"), player.stat("copies"));
  ck_assert_uint_eq(player.stat("copies"), 0);
  ck_assert_uint_eq(player.stat("shown") + player.stat("dropped"), kFrames);
  ck_assert_uint_eq(player.stat("commits"), player.stat("shown"));
  return player.stat("shown") == kFrames;
}

} // namespace

GST_START_TEST(test_every_frame_has_one_vblank)
{
  const Stream &stream = kStreams[__i__];
  g_print("# %s, sync=true, %u frames\n", stream.name, kFrames);
  Player player(pipeline_of(stream));
  Arrivals arrivals;
  arrivals.sink = player.sink;
  GstPad *pad = gst_element_get_static_pad(player.sink, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_buffer, &arrivals, nullptr);
  gst_object_unref(pad);
  player.play_to_end(60);
  ck_assert(all_shown(player));
  if (!stream.every_vblank)
    return;
  ck_assert_uint_eq(player.stat("late"), 0);
  read_flips(player.sink, &arrivals.shown[kFrames], &arrivals.sequence[kFrames]);
  // the first frame stays from preroll until playing starts
  for (guint i = kSettled; i <= kFrames; i++)
    ck_assert_msg(arrivals.shown[i] - arrivals.shown[i - 1] == arrivals.sequence[i] - arrivals.sequence[i - 1],
                  "%s: between buffers %u and %u: frames %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT
                  ", vblanks %u to %u",
                  stream.name, i - 1, i, arrivals.shown[i - 1], arrivals.shown[i], arrivals.sequence[i - 1],
                  arrivals.sequence[i]);
  ck_assert_uint_eq(arrivals.shown[kFrames], kFrames);
}
GST_END_TEST

GST_START_TEST(test_unsynchronised_stream_loses_nothing)
{
  Player player("videotestsrc pattern=black num-buffers=120 ! "
                "video/x-raw, format=BGRx, width=1024, height=768, framerate=1000/1 ! "
                "kmsdmabufsink name=sink mode=match driver-name=vkms sync=false");
  player.play_to_end(60);
  ck_assert_uint_eq(player.stat("shown"), 120);
  ck_assert_uint_eq(player.stat("dropped"), 0);
  ck_assert_uint_ge(player.stat("waits"), 100);
}
GST_END_TEST

// Twice the display's rate: each vblank shows one frame, the other one is dropped, and nobody waits.
GST_START_TEST(test_too_fast_a_stream_drops)
{
  Player player("videotestsrc pattern=black num-buffers=240 ! "
                "video/x-raw, format=BGRx, width=1024, height=768, framerate=120/1 ! "
                "queue max-size-buffers=4 ! kmsdmabufsink name=sink mode=match driver-name=vkms");
  player.play_to_end(60);
  ck_assert_uint_eq(player.stat("waits"), 0);
  ck_assert_uint_eq(player.stat("shown") + player.stat("dropped"), 240);
  ck_assert_uint_ge(player.stat("shown"), 119);
  ck_assert_uint_le(player.stat("shown"), 123);
}
GST_END_TEST

static Suite *kms_stream_suite(void)
{
  Suite *s = suite_create("kms-stream");
  TCase *tc = tcase_create("stream");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, test_every_frame_has_one_vblank, 0, G_N_ELEMENTS(kStreams));
  tcase_add_test(tc, test_unsynchronised_stream_loses_nothing);
  tcase_add_test(tc, test_too_fast_a_stream_drops);
  return s;
}

GST_DRM_CHECK_MAIN(kms_stream)
