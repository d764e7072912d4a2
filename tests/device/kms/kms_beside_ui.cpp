// SPDX-License-Identifier: LGPL-2.1-or-later
// mode=current: video on planes beside a user interface that owns the display, under it through a
// hole and over it as an inset, proved by what the display writes back. The UI loses no frame and
// no event. Needs vkms.zpos=1.
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gst/video/videooverlay.h>

#include "configfs_support.hpp"
#include "kms_hotplug_support.hpp"
#include "kms_image.hpp"
#include "kms_ioctls.hpp"
#include "kms_leases.hpp"
#include "kms_ui.hpp"
#include "support/loaded_asan.hpp"

using namespace gstdrm::test;

namespace {

constexpr int kWidth = 640, kHeight = 480;
constexpr Ui::Hole kHole{100, 120, 320, 240};
constexpr unsigned kGetProperties = 0xb9; // DRM_IOCTL_MODE_OBJ_GETPROPERTIES
constexpr unsigned kAuthMagic = 0x11;     // DRM_IOCTL_AUTH_MAGIC, with which drmIsMaster() asks
constexpr auto kComplaints = static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
const std::vector<OutputSpec> kOne = {{3, false, true}};

// A sink, and the pictures that it shows.
struct Video {
  Sink sink;
  GstVideoInfo info;
  Image picture{1, 1};
  unsigned pushed = 0;

  Video(const Ui &ui, const std::string &properties, int width, int height)
      : sink(("driver-name=\"\" fd=" + std::to_string(ui.fd()) + " " + properties).c_str()),
        info(video_info(plain_caps("BGRx", width, height)))
  {
  }
  void start()
  {
    pushed = 0;
    ck_assert_msg(sink.set_caps(dma_drm_caps("XR24", GST_VIDEO_INFO_WIDTH(&info),
                                             GST_VIDEO_INFO_HEIGHT(&info))),
                  "%s", sink.next_message(GST_MESSAGE_ERROR).c_str());
  }
  // Another size of the stream, while it plays.
  void resize(int width, int height)
  {
    info = video_info(plain_caps("BGRx", width, height));
    ck_assert(sink.set_caps(dma_drm_caps("XR24", width, height)));
  }
  void push(unsigned seed)
  {
    const auto noise = make_noise(info, seed);
    picture = image_of(info, noise.get());
    ck_assert_msg(sink.push(to_dmabuf(info, noise.get(), Shape::Tight).release()) == GST_FLOW_OK,
                  "%s", sink.next_message(GST_MESSAGE_ERROR).c_str());
    pushed++;
  }
  // Until it is on screen; the UI's commits may come in between.
  void show(unsigned seed)
  {
    const std::uint64_t before = sink.stat("shown");
    push(seed);
    for (int i = 0; i < 20000 && sink.stat("shown") == before; i++)
      g_usleep(1000);
    ck_assert_uint_eq(sink.stat("shown"), before + 1);
  }
  void expect_no_complaint()
  {
    const std::string text = sink.next_message(kComplaints);
    ck_assert_msg(text.empty(), "%s", text.c_str());
  }
};

void put(Image &screen, const Image &picture, int x, int y)
{
  for (int row = 0; row < picture.height; row++)
    for (int column = 0; column < picture.width; column++)
      if (x + column < screen.width && y + row < screen.height)
        screen.at(x + column, y + row) = picture.at(column, row);
}

void expect_words(const std::string &text, const std::vector<std::string> &words)
{
  for (const std::string &word : words)
    ck_assert_msg(text.find(word) != std::string::npos, "\"%s\" is not in \"%s\"", word.c_str(),
                  text.c_str());
}

// Every frame that the UI committed was flipped, and its event came to the UI.
void expect_nothing_lost(Ui &ui)
{
  ui.pause();
  g_print("# the UI drew %u frames, and %u were flipped\n", ui.frames(), ui.flips());
  ck_assert_uint_gt(ui.frames(), 0);
  ck_assert_uint_eq(ui.frames(), ui.flips());
  ui.resume();
}

const std::string kUnder = "zpos=0 fit=none render-rectangle=<100,120,320,240>";
const std::string kOver = "zpos=2 fit=none render-rectangle=<20,20,160,120>";

} // namespace

// Picture in picture: two sinks on one connector, each on a plane of its own.
GST_START_TEST(test_under_and_over)
{
  ConfigfsDevice device("layers", kOne);
  Ui ui(device.path(), kWidth, kHeight, kHole);
  Video under(ui, kUnder, 320, 240), over(ui, kOver, 160, 120);
  int x = 20, y = 20;
  bool has_under = false, has_over = false;
  const auto check = [&](const char *stage) {
    g_print("# %s\n", stage);
    const Ui::Screen screen = ui.screen();
    Image expected = screen.drawn;
    if (has_under)
      put(expected, under.picture, kHole.x, kHole.y);
    if (has_over)
      put(expected, over.picture, x, y);
    compare(stage, screen.shown, expected);
  };
  const auto show = [&](unsigned seed) {
    under.show(seed);
    over.show(seed + 100);
    has_under = has_over = true;
  };
  check("the UI alone");
  under.start();
  over.start();
  show(1);
  check("started");
  for (unsigned i = 2; i < 12; i++)
    show(i);
  check("ten frames later");
  auto *overlay = GST_VIDEO_OVERLAY(over.sink.element());
  gst_video_overlay_set_render_rectangle(overlay, x = 450, y = 300, 160, 120);
  show(20);
  check("the inset was moved");
  over.resize(128, 96);
  over.show(26);
  x += 16, y += 12; // in the middle of its rectangle
  check("the inset's video is smaller");
  gst_util_set_object_arg(G_OBJECT(over.sink.element()), "fit", "fill");
  over.show(27);
  x = 450, y = 300;
  over.picture = scaled(over.picture, 160, 120);
  check("the inset is filled");
  gst_video_overlay_set_render_rectangle(overlay, x = 400, y = 280, 192, 144);
  over.show(28);
  over.picture = scaled(over.picture, 192, 144);
  check("the inset is larger");
  gst_util_set_object_arg(G_OBJECT(over.sink.element()), "fit", "none");
  gst_video_overlay_set_render_rectangle(overlay, x = 450, y = 300, 160, 120);
  over.resize(160, 120);
  over.show(29);
  check("the inset is as it was");
  ck_assert(over.sink.set_state(GST_STATE_PAUSED));
  under.show(21);
  check("paused");
  ck_assert(over.sink.set_state(GST_STATE_PLAYING));
  show(22);
  device.plug(0, false);
  for (Video *video : {&under, &over}) {
    expect_hotplug(video->sink, device.connectors()[0], false);
    video->push(23);
  }
  has_under = has_over = false;
  check("unplugged");
  // the last frame, shown again at its own time, would count as the next one
  for (Video *video : {&under, &over})
    g_object_set(video->sink.element(), "enable-last-sample", FALSE, nullptr);
  device.plug(0, true);
  for (Video *video : {&under, &over})
    expect_hotplug(video->sink, device.connectors()[0], true);
  show(24);
  check("plugged in");
  for (Video *video : {&under, &over})
    g_object_set(video->sink.element(), "enable-last-sample", TRUE, nullptr);
  ck_assert(over.sink.set_state(GST_STATE_READY));
  has_over = false;
  check("the inset has stopped");
  ck_assert(under.sink.set_state(GST_STATE_NULL));
  has_under = false;
  check("stopped");
  under.start();
  over.start();
  show(25);
  check("started again");
  expect_nothing_lost(ui);
  under.expect_no_complaint();
  over.expect_no_complaint();
}
GST_END_TEST

// While the UI draws nothing, so that each ioctl is the sink's.
GST_START_TEST(test_one_ioctl_a_frame)
{
  constexpr unsigned kFrames = 40;
  const ConfigfsDevice device("ioctls", kOne);
  Ui ui(device.path(), kWidth, kHeight, kHole);
  Video under(ui, kUnder, 320, 240);
  const auto frame = to_dmabuf(under.info, make_noise(under.info, 1).get(), Shape::Tight);
  ui.pause();
  under.start();
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(under.sink.push(gst_buffer_ref(frame.get())), GST_FLOW_OK);
  under.sink.eos(); // all are shown
  under.sink.flush();
  under.start();
  ck_assert_int_eq(under.sink.push(gst_buffer_ref(frame.get())), GST_FLOW_OK);
  const unsigned all = count_drm_ioctls(), commits = count_drm_ioctls(kAtomic),
                 looks = count_drm_ioctls(kGetProperties), asked = count_drm_ioctls(kAuthMagic);
  const std::uint64_t before = under.sink.stat("commits");
  for (unsigned i = 0; i < kFrames; i++)
    ck_assert_int_eq(under.sink.push(gst_buffer_ref(frame.get())), GST_FLOW_OK);
  under.sink.eos();
  const unsigned made = static_cast<unsigned>(under.sink.stat("commits") - before);
  g_print("# %u commits of %u frames: %u atomic ioctls, %u to look at the CRTC\n", made, kFrames,
          count_drm_ioctls(kAtomic) - commits, count_drm_ioctls(kGetProperties) - looks);
  ck_assert_uint_ge(made, kFrames);
  ck_assert_uint_eq(count_drm_ioctls(kAtomic) - commits, made);
  // The CRTC is read once a second; on a busy machine no flip may come for a second, after which
  // the sink asks whether it is master.
  ck_assert_uint_eq(count_drm_ioctls() - all, made + count_drm_ioctls(kGetProperties) - looks +
                                                  count_drm_ioctls(kAuthMagic) - asked);
  ui.resume();
  ui.screen(); // the UI has come to draw again
  expect_nothing_lost(ui);
}
GST_END_TEST

namespace {

// A player in a process of its own, with the UI's descriptor.
class Player {
public:
  explicit Player(const Ui &ui)
  {
    constexpr int kFd = 9;
    const std::string fd = "fd=" + std::to_string(kFd);
    std::vector<std::string> words = {"gst-launch-1.0",
                                      "-q",
                                      "videotestsrc",
                                      "pattern=red",
                                      "!",
                                      "video/x-raw,format=BGRx,width=64,height=64,framerate=10/1",
                                      "!",
                                      "kmsdmabufsink",
                                      fd,
                                      "zpos=3",
                                      "render-rectangle=<500,400,64,64>"};
    if (const std::string asan = loaded_asan(); !asan.empty())
      words.insert(words.begin(), {"env", "LD_PRELOAD=" + asan});
    std::vector<char *> arguments;
    for (std::string &word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ui.fd(), kFd);
    ck_assert_int_eq(
        posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  Player(const Player &) = delete;
  Player &operator=(const Player &) = delete;
  ~Player() { end(SIGKILL); }
  void end(int signal)
  {
    if (pid_ <= 0)
      return;
    kill(pid_, signal);
    ck_assert_int_eq(waitpid(pid_, nullptr, 0), pid_);
    pid_ = -1;
  }

private:
  pid_t pid_ = -1;
};

} // namespace

// A process that shares the UI's open file shows a video, and ends well or is killed.
GST_START_TEST(test_in_another_process)
{
  const ConfigfsDevice device("player", kOne);
  Ui ui(device.path(), kWidth, kHeight, kHole);
  Video under(ui, kUnder, 320, 240);
  under.start();
  under.show(1);
  Image red(64, 64);
  std::fill(red.pixels.begin(), red.pixels.end(), 0xff0000);
  for (const int signal : {SIGINT, SIGKILL}) {
    Player player(ui);
    Ui::Screen screen = ui.screen();
    for (int i = 0; i < 200 && screen.shown.at(510, 410) != 0xff0000; i++)
      screen = ui.screen();
    Image expected = screen.drawn;
    put(expected, under.picture, kHole.x, kHole.y);
    put(expected, red, 500, 400);
    compare("with the player", screen.shown, expected);
    player.end(signal);
    screen = ui.screen();
    expected = screen.drawn;
    put(expected, under.picture, kHole.x, kHole.y);
    compare("without the player", screen.shown, expected);
    under.show(2);
  }
  expect_nothing_lost(ui);
}
GST_END_TEST

// Two processes choose a plane at the same time, before either shows a picture: each gets one of its
// own.
GST_START_TEST(test_two_processes_choose_at_once)
{
  const ConfigfsDevice device("at-once", kOne);
  Ui ui(device.path(), kWidth, kHeight, kHole);
  Video under(ui, kUnder, 320, 240);
  ck_assert(under.sink.set_state(GST_STATE_READY));
  Image red(64, 64);
  std::fill(red.pixels.begin(), red.pixels.end(), 0xff0000);
  Player player(ui);
  Ui::Screen screen = ui.screen();
  for (int i = 0; i < 200 && screen.shown.at(510, 410) != 0xff0000; i++)
    screen = ui.screen();
  under.start();
  under.show(1);
  screen = ui.screen();
  Image expected = screen.drawn;
  put(expected, under.picture, kHole.x, kHole.y);
  put(expected, red, 500, 400);
  compare("both", screen.shown, expected);
  under.expect_no_complaint();
  player.end(SIGINT);
  expect_nothing_lost(ui);
}
GST_END_TEST

// The UI turns its display off, and on in another mode.
GST_START_TEST(test_the_ui_changes_its_mode)
{
  const ConfigfsDevice device("modes", kOne);
  Ui ui(device.path(), kWidth, kHeight, kHole);
  Video video(ui, "zpos=2 fit=none", 160, 120);
  video.start();
  video.show(1);
  Ui::Screen screen = ui.screen();
  put(screen.drawn, video.picture, 240, 180);
  compare("in the middle", screen.shown, screen.drawn);
  ui.pause();
  ui.turn_off();
  for (unsigned i = 2; i < 6; i++)
    video.push(i);
  expect_words(video.sink.await_message(GST_MESSAGE_WARNING),
               {device.connectors()[0], "turned it off"});
  const std::uint64_t dropped = video.sink.stat("dropped");
  for (unsigned i = 6; i < 9; i++)
    video.push(i);
  ck_assert_uint_eq(video.sink.stat("dropped"), dropped + 3);
  ck_assert_uint_eq(video.sink.stat("held"), 0);
  ui.set_mode(800, 600);
  ui.resume();
  video.show(9);
  screen = ui.screen();
  put(screen.drawn, video.picture, 320, 240);
  compare("in the middle of the other mode", screen.shown, screen.drawn);
  video.expect_no_complaint();
  expect_nothing_lost(ui);
}
GST_END_TEST

// What there is not to join is said before anything is touched.
GST_START_TEST(test_refused)
{
  const ConfigfsDevice device("dark", kOne);
  {
    Sink sink(("driver-name=\"\" mode=current device=" + device.path()).c_str());
    ck_assert(!sink.set_state(GST_STATE_READY));
    expect_words(sink.next_message(GST_MESSAGE_ERROR), {"mode=match", "Nothing is shown"});
  }
  Ui ui(device.path(), kWidth, kHeight, kHole);
  std::vector<std::unique_ptr<Video>> all;
  for (unsigned i = 0; i < 3; i++) { // one for each overlay plane
    all.push_back(std::make_unique<Video>(ui, "mode=current fit=none", 64, 64));
    ck_assert(all.back()->sink.set_state(GST_STATE_READY));
  }
  Video more(ui, "mode=current", 64, 64);
  more.start(); // and waits
  unsigned seed = 0;
  for (const auto &video : all) {
    video->start();
    video->show(seed++);
  }
  more.expect_no_complaint();
  ck_assert_int_eq(
      more.sink.push(to_dmabuf(more.info, make_noise(more.info, 1).get(), Shape::Tight).release()),
      GST_FLOW_ERROR);
  expect_words(more.sink.next_message(GST_MESSAGE_ERROR), {"Plane", "another sink"});
  ck_assert(more.sink.set_state(GST_STATE_READY));
  all.pop_back(); // its plane is free again
  more.start();
  more.show(9);
  expect_nothing_lost(ui);
}
GST_END_TEST

static Suite *kms_beside_ui_suite(void)
{
  Suite *s = suite_create("kms-beside-ui");
  TCase *tc = tcase_create("beside-ui");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_test(tc, test_under_and_over);
  tcase_add_test(tc, test_one_ioctl_a_frame);
  tcase_add_test(tc, test_in_another_process);
  tcase_add_test(tc, test_two_processes_choose_at_once);
  tcase_add_test(tc, test_the_ui_changes_its_mode);
  tcase_add_test(tc, test_refused);
  add_lease_cases(s);
  return s;
}

GST_DRM_CHECK_MAIN(kms_beside_ui)
