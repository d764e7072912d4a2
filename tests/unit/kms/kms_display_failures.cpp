// SPDX-License-Identifier: LGPL-2.1-or-later
// The engine against a fake libdrm: no failure of any call leaves anything behind.
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/resource.h>

#include "kms_display_fixture.hpp"
#include "support/open_fds.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

// The whole life of a display. An Error ends it early.
Result<void> live(const DeviceRequest &request, Listener &listener, const Memory &a, const Memory &b)
{
  Result<std::shared_ptr<Display>> opened = Display::open(request, {}, listener);
  if (!opened)
    return opened.error();
  Display &display = **opened;
  if (Result<void> started = display.start(); !started)
    return started;
  if (Result<void> configured = display.configure(picture(640, 480)); !configured)
    return configured;
  for (const Memory *memory : {&a, &b, &a}) {
    Result<FramebufferCache::Import> import = display.import(xrgb(*memory, 640, 480));
    if (!import)
      return import.error();
    Frame frame;
    frame.framebuffer = import->imported;
    Result<Shown> shown = display.show(frame, FlipQueue::Overflow::Wait);
    if (!shown)
      return shown.error();
    if (*shown == Shown::Failed)
      return Error{ErrorCode::Device, "posted", 0};
  }
  if (!display.drain(kLong_ns))
    return Error{ErrorCode::Device, "not drained", 0};
  // It waits a frame time for a frame, and /dev/null is no fence, so it always fails in the end.
  // The call that fails is one of its own, then.
  const auto none_failed = [] {
    const std::lock_guard guard(fakedrm::device().lock);
    return fakedrm::device().failed_call.empty();
  };
  if (none_failed())
    (void)display.snapshot();
  return display.stop();
}

constexpr int kErrors[] = {ENOMEM, EINVAL, EACCES, EBUSY, ENODEV};
// Sanitized code is ten times as slow: each call fails there with one of the errors, in turn.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kStep = 5;
#else
constexpr int kStep = 1;
#endif

class EveryFailure : public testing::TestWithParam<int> {};

TEST_P(EveryFailure, leaves_nothing_behind)
{
  const Memory a{640 * 480 * 4}, b{640 * 480 * 4};
  UniqueFd first(fakedrm::plug()); // what the fake opens once
  first.reset();
  const unsigned fds_before = count_fds();
  int failed = 0;
  const auto which = std::find(std::begin(kErrors), std::end(kErrors), GetParam());
  for (int n = 1 + static_cast<int>(which - kErrors) % kStep;; n += kStep) {
    UniqueFd drm_fd(fakedrm::plug());
    Listener listener;
    fakedrm::device().fail_at = n;
    fakedrm::device().speed = 10; // a snapshot in vain takes a few refreshes
    fakedrm::device().error = GetParam();
    DeviceRequest request;
    request.fd = drm_fd.get();
    const Result<void> result = live(request, listener, a, b);
    const std::string where = "call " + std::to_string(n) + ": " + fakedrm::device().failed_call;
    ASSERT_EQ(left_over(), 0) << where;
    ASSERT_EQ(fakedrm::device().double_closes, 0U) << where;
    ASSERT_TRUE(result || !result.error().message.empty()) << where;
    if (fakedrm::device().failed_call.empty()) {
      ASSERT_TRUE(result) << result.error().message;
      break; // n is past the last call
    }
    failed += result ? 0 : 1;
  }
  EXPECT_GT(failed, 30 / kStep); // failures that a display cannot do without
  UniqueFd last(fakedrm::plug()); // lets the one before go
  last.reset();
  EXPECT_LE(count_fds(), fds_before);
}

INSTANTIATE_TEST_SUITE_P(Errors, EveryFailure, testing::ValuesIn(kErrors),
                         [](const auto &info) { return std::string(strerrorname_np(info.param)); });

// The process may open so many descriptors more while this lives.
class FewDescriptors {
public:
  explicit FewDescriptors(rlim_t more)
  {
    getrlimit(RLIMIT_NOFILE, &old_);
    const UniqueFd lowest(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const rlimit few{static_cast<rlim_t>(lowest.get()) + more, old_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &old_); }
  FewDescriptors(const FewDescriptors &) = delete;
  FewDescriptors &operator=(const FewDescriptors &) = delete;

private:
  rlimit old_{};
};

// With each number of descriptors a display shows its frames, or says why it does not.
TEST(Descriptors, too_few_are_an_error_and_leave_nothing_behind)
{
  const Memory a{640 * 480 * 4}, b{640 * 480 * 4};
  UniqueFd first(fakedrm::plug());
  first.reset();
  const unsigned fds_before = count_fds();
  constexpr rlim_t kMost = 100;
  bool enough = false;
  int refused = 0;
  for (rlim_t more = 0; more < kMost && !enough; more++) {
    UniqueFd drm_fd(fakedrm::plug());
    Listener listener;
    fakedrm::device().speed = 10;
    fakedrm::device().failed_call = "none"; // no snapshot
    DeviceRequest request;
    request.fd = drm_fd.get();
    {
      const FewDescriptors few(more);
      const Result<void> result = live(request, listener, a, b);
      enough = static_cast<bool>(result);
      if (!enough) {
        EXPECT_EQ(result.error().sys_errno, EMFILE) << result.error().message;
        refused++;
      }
    }
    fakedrm::device().handles.clear(); // left open where there was no second open file
    ASSERT_EQ(left_over(), 0) << more;
    ASSERT_EQ(fakedrm::device().double_closes, 0U) << more;
  }
  EXPECT_TRUE(enough);
  EXPECT_GT(refused, 1);
  UniqueFd last(fakedrm::plug());
  last.reset();
  EXPECT_LE(count_fds(), fds_before);
}

} // namespace
