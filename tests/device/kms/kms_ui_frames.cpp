// SPDX-License-Identifier: LGPL-2.1-or-later
// mode=current: the user interface that owns the display draws at a rate of its own, right after a
// vblank and for the next one, and misses none of those whatever the sinks beside it do. On virtual
// time, so that a vblank is missed by the order of commits alone. Needs vkms.zpos=1 and
// vkms.scaling=1.
#include <string>
#include <vector>

#include <unistd.h>

#include <gst/video/videooverlay.h>

#include "configfs_support.hpp"
#include "kms_hotplug_support.hpp"
#include "kms_image.hpp"
#include "kms_ioctls.hpp"
#include "kms_ui.hpp"

using namespace gstdrm::test;

namespace {

constexpr int kWidth = 640, kHeight = 480;
constexpr Ui::Hole kHole{100, 120, 320, 240};
constexpr unsigned kBurst = 10; // frames, as fast as the display takes them
const std::vector<OutputSpec> kOne = {{3, false, true}};

struct Video {
  Sink sink;
  GstPtr<GstBuffer> frame;

  Video(const Ui &ui, const char *properties)
      : sink(("driver-name=\"\" fd=" + std::to_string(ui.fd()) + " " + properties).c_str())
  {
  }
  // Also another size while it plays.
  void set_size(int width, int height)
  {
    const GstVideoInfo info = video_info(plain_caps("BGRx", width, height));
    frame = to_dmabuf(info, make_noise(info, 1).get(), Shape::Tight);
    ck_assert(sink.set_caps(dma_drm_caps("XR24", width, height)));
  }
  void push(unsigned frames)
  {
    for (unsigned i = 0; i < frames; i++)
      ck_assert_int_eq(sink.push(gst_buffer_ref(frame.get())), GST_FLOW_OK);
  }
  void show(unsigned frames)
  {
    const std::uint64_t before = sink.stat("shown");
    push(frames);
    while (sink.stat("shown") < before + frames)
      g_usleep(1000);
  }
};

// No frame of these sleeps in the kernel until it is on screen. Some drivers stop the whole CRTC
// for a commit that may set a mode: the UI on vkms would lose nothing by it.
void show_without_sleep(Video &video)
{
  const unsigned before = count_blocking_commits();
  video.show(kBurst);
  ck_assert_uint_eq(count_blocking_commits(), before);
}

// What the UI has lost since the last call.
struct Account {
  Ui &ui;
  Ui::Punctuality last{};

  Ui::Punctuality settle(const char *stage)
  {
    const unsigned until = ui.punctuality().frames + 3;
    while (ui.punctuality().frames < until)
      g_usleep(1000);
    const Ui::Punctuality now = ui.punctuality(), before = last;
    last = now;
    const Ui::Punctuality lost{now.frames - before.frames, now.busy - before.busy,
                               now.missed - before.missed};
    g_print("# %s: %u frames, %u EBUSY, %u vblanks missed\n", stage, lost.frames, lost.busy,
            lost.missed);
    return lost;
  }
  void expect_nothing_lost(const char *stage)
  {
    const Ui::Punctuality lost = settle(stage);
    ck_assert_uint_eq(lost.busy, 0);
    ck_assert_uint_eq(lost.missed, 0);
  }
};

// Each change comes while a frame is in flight, so that its commit follows right on a flip.
void change(Video &video, Account &account)
{
  auto *overlay = GST_VIDEO_OVERLAY(video.sink.element());
  video.push(1);
  gst_video_overlay_set_render_rectangle(overlay, 300, 200, 160, 120);
  video.show(kBurst);
  account.expect_nothing_lost("moved");
  video.push(1);
  video.set_size(128, 96);
  video.show(kBurst);
  account.expect_nothing_lost("another size");
  video.push(1);
  gst_util_set_object_arg(G_OBJECT(video.sink.element()), "fit", "fill");
  video.show(kBurst);
  account.expect_nothing_lost("scaled");
  video.push(1);
  ck_assert(video.sink.set_state(GST_STATE_PAUSED));
  account.expect_nothing_lost("paused");
  ck_assert(video.sink.set_state(GST_STATE_PLAYING));
  video.show(kBurst);
  account.expect_nothing_lost("played again");
}

} // namespace

// 2: every second vblank is the sink's.
GST_START_TEST(test_no_frame_is_late)
{
  const unsigned vblanks = static_cast<unsigned>(__i__);
  ConfigfsDevice device("frames", kOne);
  Ui ui(device.path(), kWidth, kHeight, kHole);
  ui.keep_time(vblanks);
  Account account{ui};
  account.settle("the UI alone");
  const unsigned mode_sets = count_mode_sets(); // the UI's
  {
    Video video(ui, "zpos=2 fit=none");
    for (const char *start : {"started", "started again"}) {
      video.set_size(160, 120);
      ui.await_drawing(); // the worst time for a first commit
      video.show(1);
      account.expect_nothing_lost(start);
      show_without_sleep(video);
      account.expect_nothing_lost("ten frames");
      change(video, account);
      device.plug(0, false);
      expect_hotplug(video.sink, device.connectors()[0], false);
      video.push(1);
      account.expect_nothing_lost("unplugged");
      device.plug(0, true);
      expect_hotplug(video.sink, device.connectors()[0], true);
      ui.await_drawing();
      video.show(1);
      account.expect_nothing_lost("plugged in");
      show_without_sleep(video);
      account.expect_nothing_lost("ten frames later");
      video.push(1);
      ck_assert(video.sink.set_state(GST_STATE_NULL));
      account.expect_nothing_lost("stopped");
    }
  }
  ck_assert_uint_eq(count_mode_sets(), mode_sets);
  ui.keep_time(0);
}
GST_END_TEST

// A case that failed leaves its device, and the ones after it are to tell of themselves.
GST_START_TEST(test_a_device_that_was_left_is_in_nobodys_way)
{
  static const auto *left = new ConfigfsDevice("frames", kOne); // as without destructors
  const std::string card = left->path();
  const ConfigfsDevice device("frames", kOne);
  ck_assert_uint_eq(device.connectors().size(), kOne.size());
  ck_assert_int_eq(access(device.path().c_str(), F_OK), 0);
  ck_assert(device.path() == card || access(card.c_str(), F_OK) != 0);
}
GST_END_TEST

static Suite *kms_ui_frames_suite(void)
{
  Suite *s = suite_create("kms-ui-frames");
  TCase *tc = tcase_create("frames");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_test(tc, test_a_device_that_was_left_is_in_nobodys_way);
  tcase_add_loop_test(tc, test_no_frame_is_late, 2, 5);
  return s;
}

GST_DRM_CHECK_MAIN(kms_ui_frames)
