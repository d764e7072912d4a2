// SPDX-License-Identifier: LGPL-2.1-or-later
// Other programs that have the display: players choose another sink.
#include <csignal>
#include <optional>
#include <string>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xf86drm.h>

#include <gst/drm/core/unique_fd.hpp>

#include "kms_errors.hpp"
#include "support/display_server.hpp"

namespace gstdrm::test {

namespace {

// Another program that is master of the card.
class OtherProgram {
public:
  OtherProgram()
  {
    const std::string card = card_of("vkms");
    int ready[2] = {-1, -1};
    ck_assert_int_eq(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const int fd = open(card.c_str(), O_RDWR | O_CLOEXEC);
      const char master = fd >= 0 && drmIsMaster(fd) ? 'y' : 'n';
      if (write(ready[1], &master, 1) != 1)
        _exit(1);
      for (;;)
        pause();
    }
    char master = 'n';
    ck_assert_int_eq(read(ready[0], &master, 1), 1);
    ck_assert_int_eq(master, 'y');
    close(ready[0]);
    close(ready[1]);
  }
  OtherProgram(const OtherProgram &) = delete;
  OtherProgram &operator=(const OtherProgram &) = delete;
  ~OtherProgram()
  {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

private:
  pid_t pid_ = -1;
};

// An X server that hangs up on everybody, so that no sink waits for its answer. (A Wayland sink of
// GStreamer's ends with a segmentation fault where a compositor does so.)
class RudeCompositor {
public:
  RudeCompositor()
  {
    const gstdrm::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{AF_UNIX, "/tmp/.X11-unix/X77"};
    (void)mkdir("/tmp/.X11-unix", 01777);
    ck_assert_int_eq(bind(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
    ck_assert_int_eq(listen(fd.get(), 64), 0);
    pid_ = fork();
    while (pid_ == 0)
      close(accept(fd.get(), nullptr, nullptr));
    g_setenv("DISPLAY", ":77", TRUE);
  }
  RudeCompositor(const RudeCompositor &) = delete;
  RudeCompositor &operator=(const RudeCompositor &) = delete;
  ~RudeCompositor()
  {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    g_unsetenv("DISPLAY");
    unlink("/tmp/.X11-unix/X77");
  }

private:
  pid_t pid_ = -1;
};

// The element that autovideosink, here or inside a playbin, has chosen.
std::string chosen_sink(GstElement *bin)
{
  std::string name;
  const auto iterator = gst_bin_iterate_sinks(GST_BIN(bin));
  GValue item = G_VALUE_INIT;
  if (gst_iterator_next(iterator, &item) == GST_ITERATOR_OK) {
    auto *element = GST_ELEMENT(g_value_get_object(&item));
    name = GST_IS_BIN(element) ? chosen_sink(element) : GST_OBJECT_NAME(gst_element_get_factory(element));
    g_value_unset(&item);
  }
  gst_iterator_free(iterator);
  return name;
}

enum class Obstacle { None, Master, Compositor, Wayland };

struct ChoiceRow {
  const char *player;
  Obstacle obstacle;
};

const ChoiceRow kChoiceRows[] = {
    {"autovideosink", Obstacle::None},
    {"playbin", Obstacle::None},
// Where this sink is not chosen, all others are tried, and not all of them live with ASan: OpenGL's
// wait for ever (tests/support/asan_gl.cpp), and one without OpenGL ends in a segmentation fault.
#ifndef __SANITIZE_ADDRESS__
    {"autovideosink", Obstacle::Master},
    {"autovideosink", Obstacle::Compositor},
    {"playbin", Obstacle::Master},
    {"playbin", Obstacle::Compositor},
    {"autovideosink", Obstacle::Wayland},
    {"playbin", Obstacle::Wayland},
#endif
};

} // namespace

GST_START_TEST(test_another_program_has_it)
{
  const OtherProgram other;
  expect_open_error("another program", "", {"Another program holds the display", "fuser -v /dev/dri/card", "DRM lease"});
}
GST_END_TEST

// The sink's rank: chosen where a display is free, and left alone where it is somebody else's.
GST_START_TEST(test_chosen_where_a_display_is_free)
{
  const ChoiceRow &row = kChoiceRows[__i__];
  g_print("# %s, obstacle %d\n", row.player, static_cast<int>(row.obstacle));
  std::optional<OtherProgram> other;
  std::optional<RudeCompositor> compositor;
  std::optional<DisplayServer> weston;
  if (row.obstacle == Obstacle::Wayland && !DisplayServer::is_installed(DisplayServer::Kind::Wayland)) {
    g_print("# there is no weston here\n");
    return;
  }
  if (row.obstacle == Obstacle::Master)
    other.emplace();
  else if (row.obstacle == Obstacle::Compositor)
    compositor.emplace();
  else if (row.obstacle == Obstacle::Wayland)
    weston.emplace(DisplayServer::Kind::Wayland);
  ck_assert_msg(!weston || weston->failure().empty(), "%s", weston->failure().c_str());
  const bool playbin = std::string(row.player) == "playbin";
  const auto player = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(
      playbin ? gst_parse_launch("playbin uri=testbin://video,num-buffers=3", nullptr)
              : gst_parse_launch("videotestsrc num-buffers=3 ! video/x-raw,width=640,height=480 ! videoconvert ! "
                                 "autovideosink",
                                 nullptr))));
  gst_element_set_state(player.get(), GST_STATE_PAUSED);
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(player.get()));
  const auto message = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(
      bus.get(), 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_ASYNC_DONE | GST_MESSAGE_ERROR)));
  ck_assert(message);
  const std::string chosen = chosen_sink(player.get());
  ck_assert_msg((chosen == "kmsdmabufsink") == (row.obstacle == Obstacle::None), "chose %s", chosen.c_str());
  gst_element_set_state(player.get(), GST_STATE_NULL);
  g_unsetenv("WAYLAND_DISPLAY");
}
GST_END_TEST

void add_program_error_cases(TCase *tc)
{
  tcase_add_test(tc, test_another_program_has_it);
  tcase_add_loop_test(tc, test_chosen_where_a_display_is_free, 0, G_N_ELEMENTS(kChoiceRows));
}

} // namespace gstdrm::test
