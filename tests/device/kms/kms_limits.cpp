// SPDX-License-Identifier: LGPL-2.1-or-later
// A process that may not have more: descriptors (ulimit -n), memory (ulimit -v). With every number of descriptors and with amounts of
// address space that end in the middle of a start or of a stream, the sink shows its frames or posts one error that says what to
// do; it leaves nothing behind, and starts anew when there is room again. Each limit is that of a process of its own.
#include <array>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kms_support.hpp"

using namespace gstdrm::test;

namespace {

constexpr guint kFrames = 6;
constexpr rlim_t kMiB = 1 << 20;

// What a child found.
enum Outcome { Shown = 10, Refused, TwoErrors, NoError, NoAdvice, Leaked, NoRestart };

struct Stream {
  std::string caps;
  std::array<GstPtr<GstBuffer>, kFrames> frames;
};

Stream make_stream(int width, int height, bool dmabuf)
{
  const GstVideoInfo info = video_info(plain_caps("BGRx", width, height));
  Stream stream{dmabuf ? dma_drm_caps("XR24", width, height) : plain_caps("BGRx", width, height), {}};
  for (GstPtr<GstBuffer> &frame : stream.frames) {
    frame = make_noise(info, 1);
    if (dmabuf)
      frame = to_dmabuf(info, frame.get(), Shape::Tight);
  }
  return stream;
}

// true: every frame was shown.
bool play(Sink &sink, const Stream &stream)
{
  if (!sink.set_state(GST_STATE_PLAYING) || !sink.set_caps(stream.caps))
    return false;
  for (const GstPtr<GstBuffer> &frame : stream.frames)
    if (sink.push(gst_buffer_copy(frame.get())) != GST_FLOW_OK)
      return false;
  sink.eos();
  return sink.stat("shown") == kFrames;
}

// Soft limit of a resource, for as long as this lives.
class Limit {
public:
  Limit(__rlimit_resource what, rlim_t most) : what_(what)
  {
    getrlimit(what_, &before_);
    const rlimit few{most, before_.rlim_max};
    setrlimit(what_, &few);
  }
  ~Limit() { setrlimit(what_, &before_); }
  Limit(const Limit &) = delete;
  Limit &operator=(const Limit &) = delete;

private:
  __rlimit_resource what_;
  rlimit before_{};
};

rlim_t lowest_descriptor()
{
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(fd);
  return static_cast<rlim_t>(fd);
}

// In the child. The sink exists before the limit does: its plugin and its types are loaded.
Outcome live(const Stream &stream, __rlimit_resource what, const std::function<rlim_t()> &most)
{
  Sink sink;
  ck_assert(play(sink, stream)); // what is made once and kept
  ck_assert(sink.set_state(GST_STATE_NULL));
  const unsigned fds = count_fds();
  bool shown = false;
  {
    const Limit limit(what, most());
    shown = play(sink, stream);
    sink.set_state(GST_STATE_NULL);
  }
  const std::string error = sink.next_message(GST_MESSAGE_ERROR);
  std::printf("# %s\n", shown ? "all frames were shown" : error.c_str());
  std::fflush(stdout);
  if (!sink.next_message(GST_MESSAGE_ERROR).empty())
    return TwoErrors;
  if (shown != error.empty())
    return NoError;
  if (!shown && error.find("ulimit") == std::string::npos)
    return NoAdvice;
  if (count_fds() != fds)
    return Leaked;
  if (!play(sink, stream))
    return NoRestart;
  return shown ? Shown : Refused;
}

Outcome in_child(const std::function<Outcome()> &what)
{
  std::fflush(stdout);
  const pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0)
    _exit(what());
  int status = 0;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_msg(WIFEXITED(status), "the process ended by signal %d", WTERMSIG(status));
  return static_cast<Outcome>(WEXITSTATUS(status));
}

void expect_shown_or_refused(Outcome outcome, const char *what, unsigned amount)
{
  static const char *const kNames[] = {"shown", "refused", "two errors", "no error", "no advice", "descriptors were left", "no restart"};
  const int at = outcome - Shown;
  ck_assert_msg(outcome == Shown || outcome == Refused, "%u %s more: %s", amount, what,
                at >= 0 && at < static_cast<int>(G_N_ELEMENTS(kNames)) ? kNames[at] : "an assertion of the child");
}

} // namespace

GST_START_TEST(test_descriptors)
{
  const Stream stream = make_stream(640, 480, true);
  constexpr unsigned kMost = 60;
  unsigned refused = 0;
  for (unsigned more = 0; more < kMost; more++) {
    const Outcome outcome =
        in_child([&] { return live(stream, RLIMIT_NOFILE, [more] { return lowest_descriptor() + more; }); });
    expect_shown_or_refused(outcome, "descriptors", more);
    if (outcome == Shown) {
      ck_assert_uint_gt(refused, 3);
      return;
    }
    refused++;
  }
  ck_abort_msg("%u descriptors are not enough", kMost);
}
GST_END_TEST

#ifndef __SANITIZE_ADDRESS__ // which maps terabytes for itself

namespace {

rlim_t address_space()
{
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

// Small allocations find room within the limit: where they do not, the process ends, as with GLib.
void keep_room_for_small_things()
{
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TRIM_THRESHOLD, 64 * kMiB);
  mallopt(M_TOP_PAD, 8 * kMiB);
  mallopt(M_MMAP_THRESHOLD, kMiB);
  std::free(std::malloc(kMiB / 2));
}

} // namespace

// Frames that the sink copies: it maps five buffers of 8 MiB, and its threads have stacks.
GST_START_TEST(test_address_space)
{
  const Stream stream = make_stream(1920, 1080, false);
  bool seen_refused = false;
  for (const unsigned more : {0U, 1U, 4U, 10U, 18U, 24U, 36U, 48U, 64U, 400U}) {
    const Outcome outcome = in_child([&] {
      keep_room_for_small_things();
      return live(stream, RLIMIT_AS, [more] { return address_space() + more * kMiB; });
    });
    expect_shown_or_refused(outcome, "MiB", more);
    seen_refused |= outcome == Refused;
    ck_assert(more != 400 || outcome == Shown);
    ck_assert(more > 10 || outcome == Refused); // its threads
  }
  ck_assert(seen_refused);
}
GST_END_TEST

// Frames in DMA buffers are not mapped: threads are all that takes room, whatever their size.
GST_START_TEST(test_dma_buffers_need_no_room)
{
  const Stream stream = make_stream(1920, 1080, true);
  const Outcome outcome = in_child([&] {
    keep_room_for_small_things();
    return live(stream, RLIMIT_AS, [] { return address_space() + 24 * kMiB; });
  });
  ck_assert_int_eq(outcome, Shown);
}
GST_END_TEST

#endif

static Suite *kms_limits_suite(void)
{
  Suite *s = suite_create("kms-limits");
  TCase *tc = tcase_create("limits");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_test(tc, test_descriptors);
#ifndef __SANITIZE_ADDRESS__
  tcase_add_test(tc, test_address_space);
  tcase_add_test(tc, test_dma_buffers_need_no_room);
#endif
  return s;
}

GST_DRM_CHECK_MAIN(kms_limits)
