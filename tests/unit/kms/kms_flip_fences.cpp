// SPDX-License-Identifier: LGPL-2.1-or-later
// What the queue does about fences: those that frames bring, and those that it gives back. The
// fences are descriptors of /dev/null whose state each test says.
#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include <cerrno>
#include <fcntl.h>
#include <future>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "fake_fences.hpp"
#include "gst/kms/engine/commit/kms_flip_queue.hpp"

namespace {

using namespace gstdrm::kms;
using gstdrm::FenceState;
using gstdrm::UniqueFd;

constexpr std::int64_t kRefresh = 16'000'000;
constexpr std::int64_t kTimeout = 5 * kRefresh;

UniqueFd open_null()
{
  return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

struct FakeTarget : FlipTarget {
  struct Call {
    const void *owner;
    bool in_fence, out_fence;
  };
  std::vector<Call> calls;
  std::vector<int> results; // of the next calls; then 0
  bool gives_out_fences = true;

  int flip(Commit &next) override
  {
    calls.push_back({next.frame.owner.get(), next.frame.acquire_fence != nullptr, next.wants_out_fence});
    int ret = 0;
    if (!results.empty()) {
      ret = results.front();
      results.erase(results.begin());
    }
    if (ret == 0 && next.wants_out_fence && gives_out_fences)
      next.out_fence = open_null();
    return ret;
  }
};

// A buffer whose release is seen, and the fence that it was given back with.
struct Buffer {
  int fences = 0;
  static void replaced(void *owner, UniqueFd fence) noexcept
  {
    static_cast<Buffer *>(owner)->fences += fence ? 1 : 0;
  }
};

class FlipFencesTest : public testing::Test {
protected:
  FlipFencesTest()
  {
    queue.set_timing(kRefresh, kRefresh);
    queue.set_fence_rules({true, kTimeout});
    queue.set_fence_lost([this](const gstdrm::Error &error) { lost.push_back(error.sys_errno); });
  }

  SharedFence fence(FenceState state)
  {
    auto made = std::make_shared<UniqueFd>(open_null());
    states[made->get()] = state;
    return made;
  }
  static Frame frame(const std::shared_ptr<Buffer> &owner, SharedFence fence = nullptr)
  {
    Frame made;
    made.owner = owner;
    made.acquire_fence = std::move(fence);
    return made;
  }
  Shown submit(Frame made, FlipQueue::Overflow overflow = FlipQueue::Overflow::Replace)
  {
    return queue.submit(made, overflow);
  }
  // A frame is on screen, and nothing is on its way.
  void settle(const std::shared_ptr<Buffer> &owner = std::make_shared<Buffer>())
  {
    submit(frame(owner));
    vblank();
  }
  void vblank()
  {
    now += kRefresh;
    queue.on_flip(queue.counters().commits, ++sequence, now);
  }

  std::map<int, FenceState> states;
  gstdrm::test::FakeFences fences{[this](int fd) { return states[fd]; }};
  std::vector<int> lost;
  FakeTarget target;
  std::int64_t now = 1'000'000'000;
  std::uint32_t sequence = 0;
  std::atomic<int> wakes{0};
  FlipQueue queue{target, [this] { return now; }, [this] { wakes++; },
                  [](const gstdrm::Error &) {}};
  std::shared_ptr<Buffer> a = std::make_shared<Buffer>();
  std::shared_ptr<Buffer> b = std::make_shared<Buffer>();
  std::shared_ptr<Buffer> c = std::make_shared<Buffer>();
};

TEST_F(FlipFencesTest, a_pending_frame_is_held_and_watched)
{
  settle();
  const SharedFence pending = fence(FenceState::Pending);
  submit(frame(a, pending));
  EXPECT_EQ(target.calls.size(), 1U);
  EXPECT_EQ(wakes, 1); // the event thread has a fence to watch
  EXPECT_EQ(queue.watched_fence(), pending);
  EXPECT_EQ(queue.next_deadline(), now + kTimeout);
  states[pending->get()] = FenceState::Signalled;
  queue.on_timer();
  ASSERT_EQ(target.calls.size(), 2U);
  EXPECT_TRUE(target.calls.back().in_fence);
  EXPECT_EQ(queue.watched_fence(), nullptr);
  vblank();
  EXPECT_EQ(queue.counters().shown, 2U);
}

TEST_F(FlipFencesTest, nobody_is_woken_for_a_frame_that_waits_for_a_flip)
{
  settle();
  submit(frame(a));
  submit(frame(b, fence(FenceState::Pending)));
  EXPECT_EQ(wakes, 0);
  EXPECT_EQ(queue.watched_fence(), nullptr); // the flip comes first
}

// A commit that waits for ever would keep the display, and the change to NULL, for ever.
TEST_F(FlipFencesTest, without_a_limit_the_kernel_gets_no_pending_fence)
{
  queue.set_fence_rules({true, kNever});
  settle();
  const SharedFence pending = fence(FenceState::Pending);
  submit(frame(a, pending));
  EXPECT_EQ(target.calls.size(), 1U);
  EXPECT_EQ(queue.watched_fence(), pending);
  EXPECT_EQ(queue.next_deadline(), kNever);
  states[pending->get()] = FenceState::Signalled;
  queue.on_timer();
  ASSERT_EQ(target.calls.size(), 2U);
  EXPECT_TRUE(target.calls.back().in_fence);
}

TEST_F(FlipFencesTest, without_in_fences_a_frame_is_held_for_ever)
{
  queue.set_fence_rules({false, kNever});
  settle();
  const SharedFence pending = fence(FenceState::Pending);
  submit(frame(a, pending));
  EXPECT_EQ(target.calls.size(), 1U);
  EXPECT_EQ(queue.next_deadline(), kNever);
  states[pending->get()] = FenceState::Signalled;
  queue.on_timer();
  ASSERT_EQ(target.calls.size(), 2U);
  EXPECT_FALSE(target.calls.back().in_fence);
}

TEST_F(FlipFencesTest, a_fence_that_never_signals_costs_its_frame)
{
  settle();
  submit(frame(a, fence(FenceState::Pending)));
  now = queue.next_deadline();
  queue.on_timer();
  EXPECT_EQ(a.use_count(), 1);
  EXPECT_EQ(lost, std::vector<int>{ETIMEDOUT});
  EXPECT_EQ(queue.counters().fence_timeouts, 1U);
  EXPECT_EQ(queue.counters().dropped, 1U);
  submit(frame(b));
  vblank();
  EXPECT_EQ(queue.counters().shown, 2U);
}

TEST_F(FlipFencesTest, a_failed_fence_costs_its_frame)
{
  settle();
  submit(frame(a, fence(FenceState::Failed)));
  EXPECT_EQ(a.use_count(), 1);
  EXPECT_EQ(lost, std::vector<int>{EIO});
  EXPECT_EQ(queue.counters().fence_errors, 1U);
  EXPECT_EQ(target.calls.size(), 1U);
}

TEST_F(FlipFencesTest, the_newest_ready_frame_overtakes)
{
  settle();
  submit(frame(a, fence(FenceState::Pending)));
  submit(frame(b, fence(FenceState::Pending)));
  submit(frame(c, fence(FenceState::Signalled)));
  EXPECT_EQ(b.use_count(), 1); // two may wait: the oldest, which is next, and the newest
  EXPECT_EQ(a.use_count(), 1); // overtaken
  EXPECT_EQ(target.calls.back().owner, c.get());
  EXPECT_EQ(queue.counters().dropped, 2U);
}

TEST_F(FlipFencesTest, a_device_slower_than_the_stream_still_gets_frames_shown)
{
  settle();
  const SharedFence first = fence(FenceState::Pending);
  submit(frame(a, first));
  for (int i = 0; i < 10; i++)
    submit(frame(b, fence(FenceState::Pending)));
  states[first->get()] = FenceState::Signalled;
  queue.on_timer();
  EXPECT_EQ(target.calls.back().owner, a.get());
}

TEST_F(FlipFencesTest, nothing_overtakes_where_every_frame_is_shown)
{
  settle();
  const SharedFence pending = fence(FenceState::Pending);
  submit(frame(a, pending), FlipQueue::Overflow::Wait);
  auto waiting = std::async(std::launch::async,
                            [this] { return submit(frame(b), FlipQueue::Overflow::Wait); });
  while (queue.counters().waits == 0)
    std::this_thread::yield();
  EXPECT_EQ(target.calls.size(), 1U);
  states[pending->get()] = FenceState::Signalled;
  queue.on_timer();
  EXPECT_EQ(waiting.get(), Shown::Yes);
  vblank();
  vblank();
  EXPECT_EQ(queue.counters().shown, 3U);
  EXPECT_EQ(queue.counters().dropped, 0U);
}

// Not even a frame that may itself be dropped.
TEST_F(FlipFencesTest, a_frame_that_has_to_be_shown_is_not_overtaken)
{
  settle();
  const SharedFence pending = fence(FenceState::Pending);
  submit(frame(a, pending), FlipQueue::Overflow::Wait);
  submit(frame(b));
  EXPECT_EQ(target.calls.size(), 1U);
  states[pending->get()] = FenceState::Signalled;
  queue.on_timer();
  EXPECT_EQ(target.calls.back().owner, a.get());
  EXPECT_EQ(queue.counters().dropped, 0U);
}

TEST_F(FlipFencesTest, a_driver_that_refuses_fences_gets_none)
{
  queue.set_fence_rules({true, kNever});
  settle();
  target.results = {-EINVAL};
  submit(frame(a, fence(FenceState::Signalled)));
  ASSERT_EQ(target.calls.size(), 3U); // refused, and made without
  EXPECT_TRUE(target.calls[1].in_fence);
  EXPECT_FALSE(target.calls.back().in_fence);
  vblank();
  submit(frame(b, fence(FenceState::Signalled)));
  ASSERT_EQ(target.calls.size(), 4U); // not tried again
  EXPECT_FALSE(target.calls.back().in_fence);
}

TEST_F(FlipFencesTest, a_refusal_for_another_reason_is_an_error)
{
  settle();
  target.results = {-EINVAL, -EINVAL};
  EXPECT_EQ(submit(frame(a, fence(FenceState::Signalled))), Shown::Failed);
  EXPECT_EQ(target.calls.size(), 3U); // with the fence, and without
}

TEST_F(FlipFencesTest, held_frames_are_dropped_for_another_picture)
{
  settle();
  submit(frame(a, fence(FenceState::Pending)));
  EXPECT_FALSE(queue.drain(1000));
  queue.drop_waiting();
  EXPECT_TRUE(queue.drain(0));
  EXPECT_EQ(a.use_count(), 1);
  EXPECT_EQ(queue.counters().dropped, 1U);
}

TEST_F(FlipFencesTest, a_mode_set_waits_for_its_fence)
{
  const SharedFence pending = fence(FenceState::Pending);
  Frame first = frame(a, pending);
  auto awaited = std::async(std::launch::async, [&] { return queue.await_fence(first); });
  while (queue.watched_fence() != pending)
    std::this_thread::yield();
  EXPECT_EQ(queue.next_deadline(), now + kTimeout);
  states[pending->get()] = FenceState::Signalled;
  queue.on_timer();
  EXPECT_EQ(awaited.get(), Shown::Yes);
  EXPECT_EQ(first.acquire_fence, nullptr);
  EXPECT_EQ(queue.watched_fence(), nullptr);
  EXPECT_EQ(queue.counters().waits, 1U);
}

TEST_F(FlipFencesTest, a_mode_set_does_not_wait_for_ever)
{
  Frame first = frame(a, fence(FenceState::Pending));
  auto awaited = std::async(std::launch::async, [&] { return queue.await_fence(first); });
  while (!queue.watched_fence())
    std::this_thread::yield();
  now = queue.next_deadline();
  queue.on_timer();
  EXPECT_EQ(awaited.get(), Shown::Dropped);
  EXPECT_EQ(queue.counters().fence_timeouts, 1U);
}

TEST_F(FlipFencesTest, a_flush_ends_the_wait_before_a_mode_set)
{
  queue.set_fence_rules({true, kNever});
  Frame first = frame(a, fence(FenceState::Pending));
  auto awaited = std::async(std::launch::async, [&] { return queue.await_fence(first); });
  while (!queue.watched_fence())
    std::this_thread::yield();
  queue.set_flushing(true);
  EXPECT_EQ(awaited.get(), Shown::Flushing);
  EXPECT_NE(first.acquire_fence, nullptr); // for another try
  EXPECT_EQ(queue.watched_fence(), nullptr); // nobody waits for it now
  EXPECT_EQ(queue.next_deadline(), kNever);
}

TEST_F(FlipFencesTest, a_buffer_goes_back_with_the_fence_of_the_commit_that_replaces_it)
{
  Frame first = frame(a);
  first.replaced = Buffer::replaced;
  submit(std::move(first));
  vblank();
  EXPECT_EQ(queue.counters().held, 1U);
  submit(frame(b));
  EXPECT_TRUE(target.calls.back().out_fence);
  EXPECT_EQ(a->fences, 1);
  EXPECT_EQ(a.use_count(), 1); // before the flip
  EXPECT_EQ(queue.counters().held, 1U);
  EXPECT_EQ(queue.counters().release_fences, 1U);
  vblank();
  submit(frame(c));
  EXPECT_FALSE(target.calls.back().out_fence); // b's producer honours no fences
  EXPECT_EQ(b.use_count(), 2);
  vblank();
  EXPECT_EQ(b.use_count(), 1);
}

TEST_F(FlipFencesTest, a_buffer_stays_until_the_commit_was_made)
{
  Frame first = frame(a);
  first.replaced = Buffer::replaced;
  submit(std::move(first));
  vblank();
  target.results = {-EBUSY};
  submit(frame(b));
  EXPECT_EQ(a.use_count(), 2);
  now = queue.next_deadline();
  queue.on_timer();
  EXPECT_EQ(a.use_count(), 1);
  EXPECT_EQ(a->fences, 1);
}

TEST_F(FlipFencesTest, without_an_out_fence_a_buffer_goes_back_with_the_flip)
{
  target.gives_out_fences = false;
  Frame first = frame(a);
  first.replaced = Buffer::replaced;
  submit(std::move(first));
  vblank();
  submit(frame(b));
  EXPECT_EQ(a.use_count(), 2);
  vblank();
  EXPECT_EQ(a.use_count(), 1);
  EXPECT_EQ(a->fences, 0);
}

TEST_F(FlipFencesTest, the_last_late_frame_is_told_once)
{
  Frame late = frame(a);
  late.stamp = 77;
  late.due_ns = now - 3 * kRefresh;
  submit(std::move(late));
  vblank();
  const auto told = queue.take_late();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->stamp, 77U);
  EXPECT_EQ(told->late_ns, 4 * kRefresh);
  EXPECT_FALSE(queue.take_late());
}

} // namespace
