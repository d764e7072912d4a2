// SPDX-License-Identifier: LGPL-2.1-or-later
// Two pipelines at once at different rates on one device, each with a clock of its own, on virtual
// time: every frame of each is shown once, and neither waits for the other.
#include <string>
#include <thread>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/unique_fd.hpp>

#include "configfs_support.hpp"
#include "kms_support.hpp"
#include "support/sw_sync.hpp"

using namespace gstdrm::test;

namespace {

constexpr guint kSeconds = 5;

struct Row {
  const char *name;
  guint first, second; // pictures in 1001 s; the mode has 60000
};

const Row kRows[] = {
    {"59.94 and 29.97", 60000, 30000},
    {"59.94 and 59.94", 60000, 60000},
    {"23.98 and 47.95", 24000, 48000},
};

class Player {
public:
  Player(const std::string &device, guint rate)
      : frames_(rate * kSeconds / 1001), pipeline_(nullptr), sink_(nullptr)
  {
    const std::string line =
        "videotestsrc pattern=black num-buffers=" + std::to_string(frames_) +
        " ! video/x-raw, format=NV12, width=640, height=480, framerate=" + std::to_string(rate) +
        "/1001 ! queue max-size-buffers=6 max-size-bytes=0 max-size-time=0 ! kmsdmabufsink "
        "name=sink device=" +
        device;
    GError *error = nullptr;
    pipeline_ = gst_parse_launch(line.c_str(), &error);
    ck_assert_msg(pipeline_ && !error, "%s", error ? error->message : "?");
    sink_ = gst_bin_get_by_name(GST_BIN(pipeline_), "sink");
    // not the process-wide one
    GstClock *clock = GST_CLOCK(g_object_new(GST_TYPE_SYSTEM_CLOCK, "name", "own", nullptr));
    gst_object_ref_sink(clock);
    gst_pipeline_use_clock(GST_PIPELINE(pipeline_), clock);
    gst_object_unref(clock);
  }
  Player(const Player &) = delete;
  Player &operator=(const Player &) = delete;
  ~Player()
  {
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(sink_);
    gst_object_unref(pipeline_);
  }
  void set_state(GstState state)
  {
    gst_element_set_state(pipeline_, state);
    ck_assert(gst_element_get_state(pipeline_, nullptr, nullptr, 30 * GST_SECOND) ==
              GST_STATE_CHANGE_SUCCESS);
  }
  void wait_for_end()
  {
    GstBus *bus = gst_element_get_bus(pipeline_);
    const auto message = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(
        bus, 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
    gst_object_unref(bus);
    ck_assert_msg(message && GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_EOS, "no end");
  }
  void expect_all_shown(const char *row) const
  {
    g_autoptr(GstStructure) stats = nullptr;
    g_object_get(sink_, "drm-stats", &stats, nullptr);
    guint64 shown = 0, dropped = 0, commits = 0, late = 0;
    gst_structure_get_uint64(stats, "shown", &shown);
    gst_structure_get_uint64(stats, "dropped", &dropped);
    gst_structure_get_uint64(stats, "commits", &commits);
    gst_structure_get_uint64(stats, "late", &late);
    g_print("# %s: %u frames, shown %" G_GUINT64_FORMAT ", dropped %" G_GUINT64_FORMAT
            ", commits %" G_GUINT64_FORMAT ", late %" G_GUINT64_FORMAT "\n",
            row, frames_, shown, dropped, commits, late);
    ck_assert_uint_eq(shown, frames_);
    ck_assert_uint_eq(dropped, 0);
    ck_assert_uint_eq(commits, frames_);
    ck_assert_uint_eq(late, 0);
  }

private:
  guint frames_;
  GstElement *pipeline_;
  GstElement *sink_;
};

} // namespace

GST_START_TEST(test_two_rates)
{
  const Row &row = kRows[__i__];
  const ConfigfsDevice device("rates", {{0, false, true}, {0, false, true}});
  Player first(device.path(), row.first), second(device.path(), row.second);
  for (Player *player : {&first, &second})
    player->set_state(GST_STATE_PAUSED);
  g_usleep(600'000); // the queues fill, as when a player buffers
  for (Player *player : {&first, &second})
    player->set_state(GST_STATE_PLAYING);
  first.wait_for_end();
  second.wait_for_end();
  first.expect_all_shown(row.name);
  second.expect_all_shown(row.name);
}
GST_END_TEST

namespace {

constexpr gulong kModeSet_us = 500'000;
constexpr int kModeSets = 8;

// Sets a mode: the kernel waits inside for a device that draws the frame for half a second.
void set_mode_slowly(Sink &sink, GstBuffer *picture)
{
  Timeline timeline;
  const gstdrm::UniqueFd fence(timeline.fence(1));
  ck_assert(
      gst_drm_dmabuf_import_fence(gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(picture, 0)),
                                  fence.get(), GST_DRM_ACCESS_WRITE, nullptr));
  ck_assert(sink.set_caps(dma_drm_caps("XR24", 640, 480)));
  std::thread device([&timeline] {
    g_usleep(kModeSet_us);
    timeline.advance();
  });
  const gint64 begin = g_get_monotonic_time();
  ck_assert_int_eq(sink.push(gst_buffer_ref(picture)), GST_FLOW_OK);
  const gint64 slept = g_get_monotonic_time() - begin;
  device.join();
  ck_assert_int_ge(slept, static_cast<gint64>(kModeSet_us)); // else nothing is shown here
  ck_assert(sink.set_state(GST_STATE_READY));
}

} // namespace

// One thread reads the events of both.
GST_START_TEST(test_mode_sets_of_the_other)
{
  const ConfigfsDevice device("rates", {{0, false, true}, {0, false, true}});
  Player player(device.path(), 60000);
  player.set_state(GST_STATE_PAUSED);
  g_usleep(600'000);
  Sink other(("device=" + device.path()).c_str());
  const GstVideoInfo info = video_info(plain_caps("BGRx", 640, 480));
  const GstPtr<GstBuffer> picture = to_dmabuf(info, make_noise(info, 1).get(), Shape::Tight);
  player.set_state(GST_STATE_PLAYING);
  for (int i = 0; i < kModeSets; i++)
    set_mode_slowly(other, picture.get());
  player.wait_for_end();
  player.expect_all_shown("beside mode sets of half a second");
}
GST_END_TEST

static Suite *kms_two_rates_suite(void)
{
  Suite *s = suite_create("kms-two-rates");
  TCase *tc = tcase_create("rates");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 200);
  tcase_add_loop_test(tc, test_two_rates, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tc, test_mode_sets_of_the_other);
  return s;
}

GST_DRM_CHECK_MAIN(kms_two_rates)
