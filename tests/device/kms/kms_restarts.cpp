// SPDX-License-Identifier: LGPL-2.1-or-later
// Many runs of sinks, after each other and after programs that were killed: nothing is left behind.
#include "kms_restarts.hpp"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include "kms_state.hpp"

namespace gstdrm::test {

namespace {

// GST_DRM_TEST_RESTARTS sets another number, 1000 for instance.
unsigned restarts()
{
  const char *text = std::getenv("GST_DRM_TEST_RESTARTS");
  return text ? static_cast<unsigned>(std::atoi(text)) : 20;
}

// Plays one frame, and keeps the sample of it.
GstPtr<GstSample> play_and_keep(Sink &sink, GstBuffer *picture)
{
  ck_assert(sink.set_caps(dma_drm_caps("NV12", 640, 480)));
  ck_assert_int_eq(sink.push(gst_buffer_ref(picture)), GST_FLOW_OK);
  GstSample *sample = nullptr;
  g_object_get(sink.element(), "last-sample", &sample, nullptr);
  ck_assert(sample);
  return GstPtr<GstSample>::adopt(sample);
}

// The number of the next GEM handle on each open file of the device: the lowest that is free
// (drm_gem_handle_create_tail()).
std::vector<std::uint32_t> next_handles()
{
  std::vector<std::uint32_t> handles;
  for (int fd = 0; fd < 1024; fd++) {
    char target[64] = "";
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (readlink(link.c_str(), target, sizeof(target) - 1) < 0 ||
        std::string(target).rfind("/dev/dri/card", 0) != 0)
      continue;
    std::uint32_t handle = 0, pitch = 0;
    std::uint64_t size = 0;
    ck_assert_int_eq(drmModeCreateDumbBuffer(fd, 16, 16, 32, 0, &handle, &pitch, &size), 0);
    ck_assert_int_eq(drmModeDestroyDumbBuffer(fd, handle), 0);
    handles.push_back(handle);
  }
  return handles;
}

// Another program has the display with a picture of its own, and is killed.
void let_a_peer_be_killed()
{
  int ends[2] = {-1, -1};
  ck_assert_int_eq(pipe(ends), 0);
  const pid_t peer = fork();
  if (peer == 0) {
    const int fd = open_vkms();
    const bool shows = drmIsMaster(fd) && show_something(fd) != 0;
    if (write(ends[1], shows ? "y" : "n", 1) == 1)
      pause();
    _exit(1);
  }
  char shows = 0;
  ck_assert_int_eq(read(ends[0], &shows, 1), 1);
  ck_assert_int_eq(shows, 'y');
  kill(peer, SIGKILL);
  ck_assert_int_eq(waitpid(peer, nullptr, 0), peer);
  close(ends[0]);
  close(ends[1]);
}

// What is on, while nobody is master.
State what_is_on()
{
  const int fd = open_vkms();
  ck_assert(drmIsMaster(fd));
  ck_assert_int_eq(drmSetClientCap(fd, DRM_CLIENT_CAP_ATOMIC, 1), 0);
  State on = read_state(fd);
  std::erase_if(on, [](const auto &entry) {
    return !entry.first.ends_with(":ACTIVE") && !entry.first.ends_with(":FB_ID") &&
           !entry.first.ends_with(":CRTC_ID");
  });
  close(fd);
  return on;
}

} // namespace

// On an open device, by sinks that take each other's place, and after programs that were killed,
// while samples of earlier runs are held: all ends as it began.
GST_START_TEST(test_restarts_leave_nothing)
{
  const unsigned wanted = restarts();
  const GstVideoInfo info = video_info(plain_caps("NV12", 640, 480));
  const GstPtr<GstBuffer> picture = to_dmabuf(info, make_noise(info, 1).get(), Shape::Tight);
  std::vector<GstPtr<GstSample>> held(8);
  let_a_peer_be_killed(); // what was on before is gone with its picture
  {                       // what stays open for good
    Sink first;
    held[0] = play_and_keep(first, picture.get());
  }
  const unsigned fds = count_fds();
  const State before = what_is_on();
  {
    Sink sink;
    ck_assert(sink.set_state(GST_STATE_READY));
    const std::vector<std::uint32_t> handles = next_handles();
    ck_assert_uint_ge(handles.size(), 1);
    for (unsigned i = 0; i < wanted / 2; i++) {
      held[i % held.size()] = play_and_keep(sink, picture.get());
      ck_assert(sink.set_state(GST_STATE_READY));
    }
    ck_assert(next_handles() == handles);
  }
  auto sink = std::make_unique<Sink>();
  for (unsigned i = 0; i < wanted / 4; i++) {
    held[i % held.size()] = play_and_keep(*sink, picture.get());
    ck_assert(sink->set_state(GST_STATE_NULL));
    auto next = std::make_unique<Sink>();
    ck_assert(next->set_state(GST_STATE_READY)); // before the old one is gone
    sink = std::move(next);
  }
  sink.reset();
  for (unsigned i = 0; i < wanted / 4; i++) {
    let_a_peer_be_killed();
    Sink own;
    held[i % held.size()] = play_and_keep(own, picture.get());
  }
  expect_same(before, what_is_on());
  held.clear();
  ck_assert_uint_eq(count_fds(), fds);
}
GST_END_TEST

void add_restart_case(TCase *tc)
{
  tcase_add_test(tc, test_restarts_leave_nothing);
}

} // namespace gstdrm::test
