// SPDX-License-Identifier: LGPL-2.1-or-later
// Many imports, bad input, fences and the probe, on the machine's own driver.
#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <thread>

#include <drm_fourcc.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <gst/drm/core/sync_file.hpp>

#include "egl_import.hpp"
#include "egl_setup.hpp"
#include "engine/egl_fences.hpp"
#include "engine/egl_probe.hpp"
#include "support/open_fds.hpp"
#include "support/sw_sync.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::test;
using egl::Shape;

constexpr GstDrmAllocatorKind kUdmabuf = GST_DRM_ALLOCATOR_KIND_UDMABUF;

unsigned count_maps()
{
  std::ifstream maps("/proc/self/maps");
  unsigned lines = 0;
  for (std::string line; std::getline(maps, line);)
    lines++;
  return lines;
}

unsigned resident_pages()
{
  std::ifstream file("/proc/self/statm");
  unsigned total = 0;
  unsigned resident = 0;
  file >> total >> resident;
  return resident;
}

GST_START_TEST(test_a_thousand)
{
  PatternFrame frame(kUdmabuf, DRM_FORMAT_NV12, 256, 256, {});
  if (!imports(frame.layout()))
    return;
  unsigned fds = 0;
  unsigned maps = 0;
  unsigned pages = 0;
  for (unsigned i = 0; i < 1000; i++) {
    (void)import(frame.layout(), i % 2 == 0 ? Shape::OneImage : Shape::PerPlane);
    if (i == 99) {
      fds = count_fds();
      maps = count_maps();
      pages = resident_pages();
    }
  }
  say(std::to_string(fds) + " descriptors, " + std::to_string(maps) + " maps, " +
      std::to_string(pages) + " pages after 100; " + std::to_string(count_fds()) + ", " +
      std::to_string(count_maps()) + ", " + std::to_string(resident_pages()) + " after 1000");
  fail_unless_equals_int(count_fds(), fds);
  fail_unless(count_maps() <= maps + 4);
  // less than a page for each of the 900
  fail_unless(resident_pages() < pages + 450);
}
GST_END_TEST

void expect_refusal(const FrameLayout &layout, const char *part)
{
  const unsigned fds = count_fds();
  {
    const auto frame = egl::import_frame(setup.device, layout, Shape::OneImage, {});
    fail_unless(!frame, "%s", part);
    say(frame.error().message);
    fail_unless(frame.error().message.find(part) != std::string::npos, "%s",
                frame.error().message.c_str());
  }
  fail_unless_equals_int(count_fds(), fds);
}

GST_START_TEST(test_bad_input)
{
  PatternFrame frame(kUdmabuf, DRM_FORMAT_NV12, 128, 96, {});
  if (!imports(frame.layout()))
    return;
  FrameLayout layout = frame.layout();
  layout.planes[1].fd = fcntl(layout.planes[1].fd, F_DUPFD_CLOEXEC, 0);
  close(layout.planes[1].fd);
  expect_refusal(layout, "plane 1");

  layout = frame.layout();
  int ends[2];
  fail_unless_equals_int(pipe2(ends, O_CLOEXEC), 0);
  layout.planes[0].fd = ends[0];
  expect_refusal(layout, "neither a dma-buf");
  close(ends[0]);
  close(ends[1]);

  layout = frame.layout();
  layout.planes[1].stride_bytes = 4096;
  expect_refusal(layout, "plane 1");
  layout = frame.layout();
  layout.format.modifier = I915_FORMAT_MOD_X_TILED;
  expect_refusal(layout, "not among the pairs");
  layout = frame.layout();
  layout.n_planes = 1;
  expect_refusal(layout, "1 plane");

  // another dma-buf, far too small: Mesa 26.1 would crash in the draw
  PatternFrame small(kUdmabuf, DRM_FORMAT_NV12, 16, 16, {});
  layout = frame.layout();
  layout.planes[1].fd = small.layout().planes[1].fd;
  expect_refusal(layout, "plane 1");
}
GST_END_TEST

// EGL borrows the descriptors for the call (EGL_EXT_image_dma_buf_import): the texture stays, and
// its end closes nothing, when their numbers are somebody else's files by then.
GST_START_TEST(test_descriptors_are_borrowed)
{
  PatternFrame frame(kUdmabuf, DRM_FORMAT_NV12, 64, 48, {});
  if (!imports(frame.layout()))
    return;
  for (const Shape shape : {Shape::OneImage, Shape::PerPlane}) {
    FrameLayout layout = frame.layout();
    UniqueFd copies[2] = {UniqueFd::dup(layout.planes[0].fd), UniqueFd::dup(layout.planes[1].fd)};
    layout.planes[0].fd = copies[0].get();
    layout.planes[1].fd = copies[1].get();
    auto imported = import(layout, shape);
    for (UniqueFd &copy : copies) {
      const int number = copy.get();
      copy.reset();
      copy.reset(open("/dev/null", O_RDWR | O_CLOEXEC));
      fail_unless_equals_int(copy.get(), number);
    }
    frame.fill(4);
    const std::vector<float> seen = setup.sampler->read(imported->textures[0]);
    if (shape == Shape::OneImage)
      fail_unless(difference(seen, frame, {}).largest <= 1.0);
    else
      fail_unless_equals_int(std::lround(255 * seen[4 * 65]), frame.stored(0, 1, 1, 0));
    imported.reset();
    for (const UniqueFd &copy : copies)
      fail_unless(fcntl(copy.get(), F_GETFD) >= 0);
  }
}
GST_END_TEST

// What the driver itself says of an attribute list that nobody checked before.
GST_START_TEST(test_words)
{
  PatternFrame frame(kUdmabuf, DRM_FORMAT_XRGB8888, 64, 64, {});
  if (!imports(frame.layout()))
    return;
  const unsigned fds = count_fds();
  FrameLayout layout = frame.layout();
  layout.format.modifier = I915_FORMAT_MOD_X_TILED;
  const auto tiled = egl::Texture::import(*setup.device, layout, egl::Target::Texture2D, {});
  fail_unless(!tiled);
  say(tiled.error().message);
  fail_unless(tiled.error().code == ErrorCode::Import);
  fail_unless(tiled.error().message.find("EGL_BAD_MATCH (0x3009)") != std::string::npos);
  fail_unless(tiled.error().message.find("plane 0: fd") != std::string::npos);
  fail_unless_equals_int(count_fds(), fds);
}
GST_END_TEST

char thread_state(pid_t thread)
{
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t end = text.rfind(')'); // of the thread's name; the state follows
  return end == std::string::npos || end + 2 >= text.size() ? '?' : text[end + 2];
}

// Waits for the fence and draws, on a thread of its own.
struct Drawing {
  std::atomic<pid_t> thread{0};
  std::atomic<bool> done{false};
  std::vector<float> seen;

  void run(const PatternFrame &frame, UniqueFd fence)
  {
    fail_unless(setup.context->make_current());
    {
      const auto imported = import(frame.layout(), Shape::OneImage);
      thread = gettid();
      const auto waits = egl::wait_on_gpu(*setup.device, std::move(fence));
      fail_unless(static_cast<bool>(waits), "%s", waits ? "" : waits.error().message.c_str());
      seen = setup.sampler->read(imported->textures[0]);
    }
    setup.context->release();
    done = true;
  }
};

GST_START_TEST(test_fence_in)
{
  if (!setup.device->has_native_fences()) {
    const auto refused = egl::wait_on_gpu(*setup.device, UniqueFd());
    fail_unless(!refused && refused.error().code == ErrorCode::Unsupported);
    say(refused.error().message);
    return;
  }
  PatternFrame frame(kUdmabuf, DRM_FORMAT_XRGB8888, 64, 64, {});
  if (!imports(frame.layout()))
    return;
  frame.fill(1);
  const unsigned fds = count_fds();
  {
    Timeline timeline;
    Drawing drawing;
    UniqueFd fence(timeline.fence(1));
    setup.context->release();
    std::thread thread([&] { drawing.run(frame, std::move(fence)); });
    // until it sleeps in the driver, or is at its end because nothing made it wait
    while (!drawing.done && (drawing.thread == 0 || thread_state(drawing.thread) != 'S'))
      sched_yield();
    const bool waited = !drawing.done;
    frame.fill(2);
    timeline.advance();
    thread.join();
    fail_unless(setup.context->make_current());
    fail_unless(waited, "nothing waited for the fence");
    fail_unless(difference(drawing.seen, frame, {}).largest < 1e-4,
                "drawn before the fence had signalled");
  }
  fail_unless_equals_int(count_fds(), fds);
}
GST_END_TEST

GST_START_TEST(test_fence_refusals)
{
  if (!setup.device->has_native_fences())
    return;
  PatternFrame frame(kUdmabuf, DRM_FORMAT_XRGB8888, 64, 64, {});
  const unsigned fds = count_fds();
  const auto none = egl::wait_on_gpu(*setup.device, UniqueFd());
  fail_unless(!none && none.error().code == ErrorCode::Sync);
  const auto other = egl::wait_on_gpu(*setup.device, UniqueFd::dup(frame.layout().planes[0].fd));
  fail_unless(!other && other.error().code == ErrorCode::Sync);
  say(other.error().message);
  // One that has signalled with an error holds nothing up.
  Timeline timeline;
  UniqueFd fence(timeline.fence(1));
  timeline.destroy();
  fail_unless(static_cast<bool>(egl::wait_on_gpu(*setup.device, std::move(fence))));
  fail_unless_equals_int(count_fds(), fds);
}
GST_END_TEST

GST_START_TEST(test_fence_out)
{
  if (!setup.device->has_native_fences()) {
    const auto refused = egl::fence_of_commands(*setup.device);
    fail_unless(!refused && refused.error().code == ErrorCode::Unsupported);
    say(refused.error().message);
    return;
  }
  PatternFrame frame(kUdmabuf, DRM_FORMAT_XRGB8888, 64, 64, {});
  if (!imports(frame.layout()))
    return;
  const unsigned fds = count_fds();
  {
    const auto imported = import(frame.layout(), Shape::OneImage);
    (void)setup.sampler->read(imported->textures[0]);
    const auto fence = egl::fence_of_commands(*setup.device);
    fail_unless(static_cast<bool>(fence), "%s", fence ? "" : fence.error().message.c_str());
    const auto state = fence_wait(fence->get(), std::chrono::seconds(60));
    fail_unless(state && *state == FenceState::Signalled);
    fail_unless((fcntl(fence->get(), F_GETFD) & FD_CLOEXEC) != 0);
  }
  fail_unless_equals_int(count_fds(), fds);
}
GST_END_TEST

// llvmpipe takes rows as they come.
GST_START_TEST(test_probe)
{
  unsigned made = 0;
  const auto scratch = [&](Format format, std::uint32_t width, std::uint32_t height,
                           std::uint32_t stride_align) -> Result<egl::ScratchFrame> {
    made++;
    auto frame = std::make_shared<PatternFrame>(kUdmabuf, format.fourcc, width, height,
                                                Placement{.stride_align = stride_align});
    return egl::ScratchFrame{frame->layout(), frame};
  };
  constexpr Format kNv12{DRM_FORMAT_NV12, DRM_FORMAT_MOD_LINEAR};
  for (const Shape shape : {Shape::OneImage, Shape::PerPlane}) {
    made = 0;
    const egl::Probe probe = egl::probe_import(setup.device, kNv12, 642, 480, shape, scratch);
    if (!setup.device->import_refusal().empty()) {
      fail_unless(probe.outcome == egl::Probe::Outcome::Refused);
      fail_unless(probe.reason.find(setup.device->import_refusal()) != std::string::npos);
      continue;
    }
    fail_unless(probe.outcome == egl::Probe::Outcome::Taken, "%s", probe.reason.c_str());
    fail_unless_equals_int(probe.stride_align, 1);
    fail_unless_equals_int(made, 1);
  }
}
GST_END_TEST

} // namespace

void add_import_edges(TCase *tcase)
{
  tcase_add_test(tcase, test_a_thousand);
  tcase_add_test(tcase, test_bad_input);
  tcase_add_test(tcase, test_descriptors_are_borrowed);
  tcase_add_test(tcase, test_words);
  tcase_add_test(tcase, test_fence_in);
  tcase_add_test(tcase, test_fence_refusals);
  tcase_add_test(tcase, test_fence_out);
  tcase_add_test(tcase, test_probe);
}
