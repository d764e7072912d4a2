// SPDX-License-Identifier: LGPL-2.1-or-later
// The cable is pulled and put back while frames come, the device goes away, the display is lent to
// another master: the stream goes on where it can, and nothing is left behind.
#include <csignal>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include "configfs_support.hpp"
#include "kms_hotplug_support.hpp"
#include "kms_image.hpp"

using namespace gstdrm::test;

namespace {

constexpr int kWidth = 640, kHeight = 480;
#if defined(__SANITIZE_ADDRESS__)
constexpr unsigned kCycles = 5;
#else
constexpr unsigned kCycles = 20;
#endif

void start(Sink &sink)
{
  ck_assert_msg(sink.set_caps(dma_drm_caps("XR24", kWidth, kHeight)), "%s",
                sink.next_message(GST_MESSAGE_ERROR).c_str());
}

GstFlowReturn push(Sink &sink, unsigned seed)
{
  const GstVideoInfo info = video_info(plain_caps("BGRx", kWidth, kHeight));
  return sink.push(to_dmabuf(info, make_noise(info, seed).get(), Shape::Tight).release());
}

void show_and_check(Sink &sink, unsigned seed)
{
  ck_assert_int_eq(push(sink, seed), GST_FLOW_OK);
  const GstVideoInfo info = video_info(plain_caps("BGRx", kWidth, kHeight));
  const GstPtr<GstSample> sample = sink.snapshot();
  ck_assert_msg(sample, "no snapshot: %s", sink.next_message(GST_MESSAGE_WARNING).c_str());
  const GstPtr<GstBuffer> picture = make_noise(info, seed);
  ck_assert_int_eq(
      largest_difference(sample.get(), reference(info, picture.get(), kWidth, kHeight)), 0);
}

// CRTCs of a device that are on.
unsigned active_crtcs(const std::string &path)
{
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  drmModeRes *resources = drmModeGetResources(fd);
  unsigned active = 0;
  for (int i = 0; i < resources->count_crtcs; i++) {
    drmModeCrtc *crtc = drmModeGetCrtc(fd, resources->crtcs[i]);
    active += crtc->mode_valid != 0;
    drmModeFreeCrtc(crtc);
  }
  drmModeFreeResources(resources);
  close(fd);
  return active;
}

const std::vector<OutputSpec> kTwo = {{0, false, true}, {1, false, true}};

} // namespace

GST_START_TEST(test_unplug_and_replug)
{
  ConfigfsDevice device("two", kTwo);
  Sink sink(("device=" + device.path() + " connector=" + device.connectors()[0]).c_str());
  Sink other(("device=" + device.path()).c_str());
  start(sink);
  start(other);
  const Reconfigures reconfigures(sink);
  show_and_check(sink, 1);
  show_and_check(other, 2);
  unsigned before = 0;
  for (unsigned cycle = 0; cycle < kCycles; cycle++) {
    device.plug(0, false);
    expect_hotplug(sink, device.connectors()[0], false);
    const std::uint64_t dropped = sink.stat("dropped"), shown = sink.stat("shown");
    for (unsigned i = 0; i < 3; i++)
      ck_assert_int_eq(push(sink, i), GST_FLOW_OK);
    ck_assert_uint_eq(sink.stat("dropped"), dropped + 3);
    ck_assert_uint_le(sink.stat("shown"), shown + 1); // what was in flight
    ck_assert_uint_eq(sink.stat("held"), 0);
    ck_assert_uint_eq(active_crtcs(device.path()), 1);
    show_and_check(other, 50 + cycle);

    const int asked = reconfigures.count();
    device.plug(0, true);
    expect_hotplug(sink, device.connectors()[0], true);
    reconfigures.expect_more_than(asked);
    show_and_check(sink, 100 + cycle);
    ck_assert_uint_eq(active_crtcs(device.path()), 2);
    show_and_check(other, 150 + cycle);
    if (cycle == 0)
      before = count_fds();
  }
  ck_assert_uint_eq(count_fds(), before);
  ck_assert(sink.next_message(GST_MESSAGE_ERROR).empty());
  ck_assert(other.next_message(GST_MESSAGE_ELEMENT).empty());
}
GST_END_TEST

// With another display the stream may take another size.
GST_START_TEST(test_other_caps_after_replug)
{
  ConfigfsDevice device("two", kTwo);
  Sink sink(("device=" + device.path()).c_str());
  start(sink);
  show_and_check(sink, 1);
  device.plug(0, false);
  expect_hotplug(sink, device.connectors()[0], false);
  ck_assert_int_eq(push(sink, 2), GST_FLOW_OK);
  ck_assert(sink.set_caps(dma_drm_caps("NV12", 1024, 768)));
  device.plug(0, true);
  expect_hotplug(sink, device.connectors()[0], true);
  const GstVideoInfo info = video_info(plain_caps("NV12", 1024, 768));
  const GstPtr<GstBuffer> picture = make_noise(info, 3);
  ck_assert_int_eq(sink.push(to_dmabuf(info, picture.get(), Shape::Tight).release()), GST_FLOW_OK);
  int width = 0, height = 0;
  const GstPtr<GstSample> sample = sink.snapshot();
  ck_assert(sample);
  const int difference =
      largest_difference(sample.get(), reference(info, picture.get(), 1024, 768), &width, &height);
  ck_assert_int_eq(width, 1024);
  ck_assert_int_eq(height, 768);
  ck_assert_int_ge(difference, 0); // below: of another size
  ck_assert_int_le(difference, 2);
}
GST_END_TEST

// Pulled while the sink is in READY, and put back while it is in PAUSED.
GST_START_TEST(test_unplugged_before_start)
{
  ConfigfsDevice device("two", kTwo);
  Sink sink(("device=" + device.path()).c_str());
  ck_assert(sink.set_state(GST_STATE_READY));
  device.plug(0, false);
  start(sink);
  expect_hotplug(sink, device.connectors()[0], false);
  ck_assert_int_eq(push(sink, 1), GST_FLOW_OK);
  device.plug(0, true);
  expect_hotplug(sink, device.connectors()[0], true);
  show_and_check(sink, 2);
  // and stopped while it is pulled out
  device.plug(0, false);
  expect_hotplug(sink, device.connectors()[0], false);
  ck_assert(sink.set_state(GST_STATE_NULL));
  ck_assert(sink.next_message(static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING))
                .empty());
}
GST_END_TEST

// While nothing comes: the last picture is shown on the display that is plugged in.
GST_START_TEST(test_replugged_while_paused)
{
  ConfigfsDevice device("two", kTwo);
  const auto pipeline = GstPtr<GstElement>::adopt(
      gst_parse_launch(("videotestsrc pattern=smpte ! video/x-raw,width=640,height=480 ! "
                        "kmsdmabufsink name=sink mode=match device=" +
                        device.path())
                           .c_str(),
                       nullptr));
  const auto sink = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "sink"));
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline.get()));
  const auto snapshot = [&sink] {
    GstSample *sample = nullptr;
    g_signal_emit_by_name(sink.get(), "snapshot", &sample);
    return GstPtr<GstSample>::adopt(sample);
  };
  const auto shown = [&sink] {
    GstStructure *stats = nullptr;
    g_object_get(sink.get(), "drm-stats", &stats, nullptr);
    guint64 count = 0;
    ck_assert(gst_structure_get_uint64(stats, "shown", &count));
    gst_structure_free(stats);
    return count;
  };
  const auto plug = [&](bool connected) {
    device.plug(0, connected);
    const auto message = GstPtr<GstMessage>::adopt(
        gst_bus_timed_pop_filtered(bus.get(), 20 * GST_SECOND, GST_MESSAGE_ELEMENT));
    ck_assert(message);
  };
  gst_element_set_state(pipeline.get(), GST_STATE_PAUSED);
  ck_assert_int_eq(gst_element_get_state(pipeline.get(), nullptr, nullptr, GST_CLOCK_TIME_NONE),
                   GST_STATE_CHANGE_SUCCESS);
  const GstPtr<GstSample> first = snapshot();
  ck_assert(first);
  const Image before = screen_of(first.get());
  const guint64 frames = shown();
  plug(false);
  plug(true);
  for (int i = 0; i < 4000 && shown() == frames; i++)
    g_usleep(5000);
  ck_assert_uint_gt(shown(), frames); // else the snapshot is of what was never taken down
  GstPtr<GstSample> again;
  for (int i = 0; i < 100 && !again; i++, g_usleep(50'000)) // the flip is told before all is set
    again = snapshot();
  ck_assert(again);
  compare("after", screen_of(again.get()), before);
  ck_assert_uint_ne(before.at(320, 100), 0);
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
}
GST_END_TEST

// The device goes away between frames (0), and under a frame that waits for its flip (1).
GST_START_TEST(test_device_vanishes)
{
  const unsigned before = count_fds();
  {
    ConfigfsDevice device("two", kTwo);
    Sink sink(("device=" + device.path()).c_str()), other(("device=" + device.path()).c_str());
    start(sink);
    start(other);
    show_and_check(sink, 1);
    show_and_check(other, 2);
    if (__i__ == 1)
      for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(push(sink, i), GST_FLOW_OK);
    device.remove();
    for (Sink *each : {&sink, &other}) {
      const GstPtr<GstMessage> message = wait_for(*each, GST_MESSAGE_ERROR);
      GError *error = nullptr;
      gst_message_parse_error(message.get(), &error, nullptr);
      gstdrm::test::say(error->message);
      ck_assert(strstr(error->message, device.path().c_str()) != nullptr);
      ck_assert(g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND));
      g_error_free(error);
      ck_assert_int_eq(push(*each, 9), GST_FLOW_ERROR);
    }
    ck_assert(sink.set_state(GST_STATE_NULL));
    ck_assert(other.set_state(GST_STATE_NULL));
    ck_assert(sink.next_message(GST_MESSAGE_ERROR).empty());
    // and it cannot be opened again
    ck_assert(!sink.set_state(GST_STATE_READY));
  }
  ck_assert_uint_eq(count_fds(), before);
}
GST_END_TEST

// As with a switch of terminals: the descriptor is not master for a while.
GST_START_TEST(test_master_lost_for_a_while)
{
  const ConfigfsDevice device("two", kTwo);
  const int fd = open(device.path().c_str(), O_RDWR | O_CLOEXEC);
  {
    Sink sink(("mode=match fd=" + std::to_string(fd)).c_str());
    start(sink);
    show_and_check(sink, 1);
    ck_assert_int_eq(drmDropMaster(fd), 0);
    for (unsigned i = 0; i < 5; i++)
      ck_assert_int_eq(push(sink, i), GST_FLOW_OK);
    const std::string warning = sink.next_message(GST_MESSAGE_WARNING);
    gstdrm::test::say(warning);
    ck_assert(warning.find("dropped") != std::string::npos);
    ck_assert(sink.next_message(GST_MESSAGE_WARNING).empty()); // once
    ck_assert_uint_ge(sink.stat("dropped"), 4);
    ck_assert_int_eq(drmSetMaster(fd), 0);
    show_and_check(sink, 2);
    show_and_check(sink, 3);
    ck_assert(sink.next_message(GST_MESSAGE_ERROR).empty());
  }
  close(fd);
}
GST_END_TEST

// Two programs take the display from each other while the sink is paused: no frame comes that would
// find it out, and the picture is back each time.
GST_START_TEST(test_painted_again_while_paused)
{
  const ConfigfsDevice device("two", kTwo);
  const int fd = open(device.path().c_str(), O_RDWR | O_CLOEXEC);
  const int other = open(device.path().c_str(), O_RDWR | O_CLOEXEC);
  const auto pipeline = GstPtr<GstElement>::adopt(gst_parse_launch(
      ("videotestsrc pattern=smpte ! video/x-raw,width=640,height=480 ! kmsdmabufsink name=sink mode=match "
       "connector=" +
       device.connectors()[0] + " fd=" + std::to_string(fd))
          .c_str(),
      nullptr));
  gst_element_set_state(pipeline.get(), GST_STATE_PAUSED);
  ck_assert_int_eq(gst_element_get_state(pipeline.get(), nullptr, nullptr, GST_CLOCK_TIME_NONE),
                   GST_STATE_CHANGE_SUCCESS);
  for (int round = 0; round < 2; round++) {
    ck_assert_uint_eq(active_crtcs(device.path()), 1);
    ck_assert_int_eq(drmDropMaster(fd), 0);
    ck_assert_int_eq(drmSetMaster(other), 0);
    drmModeRes *resources = drmModeGetResources(other);
    for (int i = 0; i < resources->count_crtcs; i++)
      drmModeSetCrtc(other, resources->crtcs[i], 0, 0, 0, nullptr, 0, nullptr);
    drmModeFreeResources(resources);
    ck_assert_uint_eq(active_crtcs(device.path()), 0);
    g_usleep(2'500'000); // the sink looks once a second
    ck_assert_int_eq(drmDropMaster(other), 0);
    ck_assert_int_eq(drmSetMaster(fd), 0);
    for (int i = 0; i < 2000 && active_crtcs(device.path()) == 0; i++)
      g_usleep(10'000);
  }
  ck_assert_uint_eq(active_crtcs(device.path()), 1);
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  close(other);
  close(fd);
}
GST_END_TEST

// Another program, which takes the display, blanks it and gives it back at each byte that it is
// sent.
class Rival {
public:
  explicit Rival(const std::string &card)
  {
    ck_assert_int_eq(pipe2(orders_, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(answers_, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0)
      _exit(play(card, orders_[0], answers_[1]));
  }
  Rival(const Rival &) = delete;
  Rival &operator=(const Rival &) = delete;
  ~Rival()
  {
    for (const int fd : {orders_[0], orders_[1], answers_[0], answers_[1]})
      close(fd);
    kill();
  }
  // 'o': opens the card. 't': takes the display. 'g': gives it back.
  void tell(char order) const
  {
    char answer = 0;
    ck_assert_int_eq(write(orders_[1], &order, 1), 1);
    ck_assert_int_eq(read(answers_[0], &answer, 1), 1);
    ck_assert_msg(answer == 'y', "%c: %c", order, answer);
  }
  // As the OOM killer does it; the kernel drops what it held.
  void kill()
  {
    if (pid_ <= 0)
      return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

private:
  static int play(const std::string &card, int orders, int answers)
  {
    int fd = -1;
    for (char order = 0; read(orders, &order, 1) == 1;) {
      bool done = false;
      if (order == 'o')
        done = (fd = open(card.c_str(), O_RDWR | O_CLOEXEC)) >= 0;
      if (order == 't' && drmSetMaster(fd) == 0) {
        drmModeRes *resources = drmModeGetResources(fd);
        done = resources != nullptr;
        for (int i = 0; done && i < resources->count_crtcs; i++)
          drmModeSetCrtc(fd, resources->crtcs[i], 0, 0, 0, nullptr, 0, nullptr);
        drmModeFreeResources(resources);
      }
      if (order == 'g')
        done = drmDropMaster(fd) == 0;
      const char answer = done ? 'y' : 'n';
      if (write(answers, &answer, 1) != 1)
        return 1;
    }
    return 0;
  }

  int orders_[2] = {-1, -1}, answers_[2] = {-1, -1};
  pid_t pid_ = -1;
};

// Two processes take the display from each other while frames come; the other one is killed while
// it has the display.
GST_START_TEST(test_two_processes_and_one_display)
{
  const ConfigfsDevice device("two", kTwo);
  const int fd = open(device.path().c_str(), O_RDWR | O_CLOEXEC);
  {
    Rival rival(device.path());
    rival.tell('o');
    Sink sink(("fd=" + std::to_string(fd) + " connector=" + device.connectors()[0] + " mode=match")
                  .c_str());
    start(sink);
    show_and_check(sink, 1);
    for (int round = 0; round < 3; round++) {
      ck_assert_int_eq(drmDropMaster(fd), 0);
      rival.tell('t');
      ck_assert_uint_eq(active_crtcs(device.path()), 0);
      const std::uint64_t dropped = sink.stat("dropped");
      for (unsigned i = 0; i < 5; i++)
        ck_assert_int_eq(push(sink, i), GST_FLOW_OK);
      ck_assert_uint_gt(sink.stat("dropped"), dropped);
      ck_assert_uint_eq(active_crtcs(device.path()), 0); // nothing of this program's
      if (round < 2)
        rival.tell('g');
      else
        rival.kill();
      ck_assert_int_eq(drmSetMaster(fd), 0);
      show_and_check(sink, 3);
      show_and_check(sink, 4);
    }
    ck_assert(sink.next_message(GST_MESSAGE_ERROR).empty());
  }
  close(fd);
}
GST_END_TEST

// The program that held the display for the sink, and is its master, ends: its descriptor stays the
// sink's, and with it the display.
GST_START_TEST(test_master_closes_its_descriptor)
{
  const ConfigfsDevice device("two", kTwo);
  const int fd = open(device.path().c_str(), O_RDWR | O_CLOEXEC);
  Sink sink(("mode=match fd=" + std::to_string(fd)).c_str());
  start(sink);
  show_and_check(sink, 1);
  close(fd);
  show_and_check(sink, 2);
  ck_assert(sink.next_message(GST_MESSAGE_ERROR).empty());
}
GST_END_TEST

static Suite *kms_hotplug_suite(void)
{
  Suite *s = suite_create("kms-hotplug");
  TCase *tc = tcase_create("hotplug");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 100);
  tcase_add_test(tc, test_unplug_and_replug);
  tcase_add_test(tc, test_other_caps_after_replug);
  tcase_add_test(tc, test_unplugged_before_start);
  tcase_add_test(tc, test_replugged_while_paused);
  tcase_add_loop_test(tc, test_device_vanishes, 0, 2);
  tcase_add_test(tc, test_master_lost_for_a_while);
  tcase_add_test(tc, test_painted_again_while_paused);
  tcase_add_test(tc, test_two_processes_and_one_display);
  tcase_add_test(tc, test_master_closes_its_descriptor);
  return s;
}

GST_DRM_CHECK_MAIN(kms_hotplug)
