// SPDX-License-Identifier: LGPL-2.1-or-later
// The queue's rules, with a display that does what each test says and a clock that stands still.
#include "gst/kms/engine/commit/kms_flip_queue.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <future>
#include <gtest/gtest.h>

#include "fake_fences.hpp"

namespace {

using namespace gstdrm::kms;
using gstdrm::UniqueFd;

constexpr std::int64_t kRefresh = 16'000'000;
constexpr std::int64_t kLost = 3'000'000'000; // until a flip counts as lost
constexpr std::int64_t kLong_ns = 60'000'000'000;

struct FakeTarget : FlipTarget {
  struct Call {
    const void *owner;
    bool job;
    bool fence;
    bool out_fence;
  };
  std::vector<Call> calls;
  std::vector<int> results; // of the next calls; then 0

  int flip(Commit &next) override
  {
    const bool job = next.writeback_framebuffer != 0;
    calls.push_back({next.frame.owner.get(), job, static_cast<bool>(next.frame.acquire_fence),
                     next.wants_out_fence});
    int ret = 0;
    if (!results.empty()) {
      ret = results.front();
      results.erase(results.begin());
    }
    if (ret == 0 && next.wants_out_fence)
      next.out_fence = UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (ret == 0 && job)
      next.writeback_fence = UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    return ret;
  }
};

class FlipQueueTest : public testing::Test {
protected:
  FlipQueueTest() { queue.set_timing(kRefresh, kRefresh); }

  // A buffer that tells whether it was given back.
  std::shared_ptr<int> buffer() { return std::make_shared<int>(0); }

  Shown submit(const std::shared_ptr<int> &owner,
                            FlipQueue::Overflow overflow = FlipQueue::Overflow::Replace,
                            std::int64_t due = kNever)
  {
    Frame frame;
    frame.owner = owner;
    frame.due_ns = due;
    return queue.submit(frame, overflow);
  }

  // The vblank that completes the last commit.
  void vblank()
  {
    now += kRefresh;
    serial = target.calls.size() - refused; // serials count the commits that succeeded
    queue.on_flip(serial, ++sequence, now);
  }

  FakeTarget target;
  std::int64_t now = 1'000'000'000;
  std::uint32_t sequence = 0;
  std::uint64_t serial = 0;
  std::size_t refused = 0;
  std::atomic<int> wakes{0}; // on any thread
  std::vector<gstdrm::Error> errors;
  FlipQueue queue{target, [this] { return now; }, [this] { wakes++; },
                  [this](const gstdrm::Error &error) { errors.push_back(error); }};
};

TEST_F(FlipQueueTest, first_frame_is_committed_at_once)
{
  EXPECT_EQ(submit(buffer()), Shown::Yes);
  EXPECT_EQ(target.calls.size(), 1U);
  EXPECT_EQ(queue.counters().shown, 0U); // not before its flip
  vblank();
  EXPECT_EQ(queue.counters().shown, 1U);
  EXPECT_EQ(queue.counters().last_sequence, 1U);
  EXPECT_EQ(queue.counters().last_flip_ns, now);
}

TEST_F(FlipQueueTest, one_commit_in_flight_and_the_event_brings_the_next)
{
  submit(buffer());
  submit(buffer());
  EXPECT_EQ(target.calls.size(), 1U);
  vblank();
  EXPECT_EQ(target.calls.size(), 2U);
  vblank();
  EXPECT_EQ(queue.counters().shown, 2U);
  EXPECT_EQ(queue.counters().dropped, 0U);
}

TEST_F(FlipQueueTest, the_newest_frame_replaces_the_one_that_waits)
{
  auto a = buffer(), b = buffer(), c = buffer();
  submit(a);
  vblank();
  submit(buffer());
  submit(b);
  submit(c);                   // the flip is a whole refresh away
  EXPECT_EQ(b.use_count(), 1); // given back at once
  EXPECT_EQ(queue.counters().dropped, 1U);
  vblank();
  EXPECT_EQ(target.calls.back().owner, c.get());
}

TEST_F(FlipQueueTest, two_may_wait_shortly_before_the_flip)
{
  auto b = buffer(), c = buffer(), d = buffer();
  submit(buffer());
  vblank();
  submit(buffer());
  now += kRefresh * 7 / 8;
  submit(b);
  submit(c);
  EXPECT_EQ(queue.counters().dropped, 0U);
  EXPECT_EQ(queue.counters().held, 4U);
  submit(d); // but not three
  EXPECT_EQ(queue.counters().dropped, 1U);
  EXPECT_EQ(b.use_count(), 1);
  now -= kRefresh * 7 / 8;
  vblank();
  EXPECT_EQ(target.calls.back().owner, c.get()); // in order
  vblank();
  EXPECT_EQ(target.calls.back().owner, d.get());
}

TEST_F(FlipQueueTest, two_may_wait_for_an_overdue_flip)
{
  submit(buffer());
  vblank();
  submit(buffer());
  now += 3 * kRefresh;
  submit(buffer());
  submit(buffer());
  EXPECT_EQ(queue.counters().dropped, 0U);
}

TEST_F(FlipQueueTest, a_buffer_is_given_back_when_the_flip_that_replaced_it_is_done)
{
  auto a = buffer(), b = buffer();
  submit(a);
  vblank();
  submit(b);
  EXPECT_EQ(a.use_count(), 2); // still on screen
  vblank();
  EXPECT_EQ(a.use_count(), 1);
  EXPECT_EQ(b.use_count(), 2);
  queue.clear();
  EXPECT_EQ(b.use_count(), 1);
}

TEST_F(FlipQueueTest, busy_is_not_an_error)
{
  target.results = {-EBUSY, -EBUSY, 0};
  auto a = buffer();
  EXPECT_EQ(submit(a), Shown::Yes);
  EXPECT_EQ(wakes, 1); // the event thread has to look again
  refused++;
  const std::int64_t retry = queue.next_deadline();
  EXPECT_GT(retry, now);
  EXPECT_LT(retry, now + kRefresh);
  now = retry;
  queue.on_timer();
  refused++;
  now = queue.next_deadline();
  queue.on_timer();
  EXPECT_EQ(queue.next_deadline(), now + kLost);
  vblank();
  EXPECT_EQ(queue.counters().shown, 1U);
  EXPECT_EQ(queue.counters().busy, 2U);
  EXPECT_TRUE(errors.empty());
}

TEST_F(FlipQueueTest, a_refused_commit_fails_once)
{
  auto a = buffer(), b = buffer();
  target.results = {-EINVAL};
  EXPECT_EQ(submit(a), Shown::Failed);
  EXPECT_EQ(a.use_count(), 1);
  EXPECT_EQ(submit(b), Shown::Failed);
  EXPECT_EQ(queue.counters().dropped, 0U); // of both the caller was told
  EXPECT_EQ(target.calls.size(), 1U);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].sys_errno, EINVAL);
  queue.clear();
  EXPECT_EQ(submit(b), Shown::Yes);
}

TEST_F(FlipQueueTest, events_of_the_time_before_clear_are_nobodys)
{
  submit(buffer());
  queue.clear();
  queue.on_flip(1, 1, now);
  EXPECT_EQ(queue.counters().shown, 0U);
  auto b = buffer();
  submit(b);
  queue.on_flip(1, 2, now); // the old one, late
  EXPECT_EQ(queue.counters().shown, 0U);
  queue.on_flip(3, 3, now);
  EXPECT_EQ(queue.counters().shown, 1U);
}

TEST_F(FlipQueueTest, late_is_a_refresh_and_an_eighth_after_due)
{
  submit(buffer(), FlipQueue::Overflow::Replace, now);
  vblank(); // one refresh after
  EXPECT_EQ(queue.counters().late, 0U);
  submit(buffer(), FlipQueue::Overflow::Replace, now - kRefresh / 4);
  vblank();
  EXPECT_EQ(queue.counters().late, 1U);
  submit(buffer()); // no due time
  vblank();
  EXPECT_EQ(queue.counters().late, 1U);
}

TEST_F(FlipQueueTest, waiting_submission_sleeps_until_the_slot_is_free)
{
  submit(buffer());
  submit(buffer());
  auto waiting = std::async(std::launch::async,
                            [this] { return submit(buffer(), FlipQueue::Overflow::Wait); });
  while (queue.counters().waits == 0)
    std::this_thread::yield();
  EXPECT_EQ(queue.counters().dropped, 0U);
  vblank();
  EXPECT_EQ(waiting.get(), Shown::Yes);
  EXPECT_EQ(queue.counters().dropped, 0U);
  EXPECT_EQ(queue.counters().waits, 1U);
  vblank();
  vblank();
  EXPECT_EQ(submit(buffer(), FlipQueue::Overflow::Wait), Shown::Yes);
  EXPECT_EQ(queue.counters().waits, 1U); // the slot was free
}

TEST_F(FlipQueueTest, flushing_wakes_it_and_leaves_the_frame_alone)
{
  submit(buffer());
  submit(buffer());
  auto owner = buffer();
  Frame frame;
  frame.owner = owner;
  auto waiting = std::async(std::launch::async,
                            [&] { return queue.submit(frame, FlipQueue::Overflow::Wait); });
  while (queue.counters().waits == 0)
    std::this_thread::yield();
  queue.set_flushing(true);
  EXPECT_EQ(waiting.get(), Shown::Flushing);
  EXPECT_EQ(frame.owner, owner);
  EXPECT_EQ(queue.submit(frame, FlipQueue::Overflow::Wait), Shown::Flushing);
  EXPECT_EQ(queue.counters().waits, 1U); // a frame of a flush does not wait
  queue.set_flushing(false);
  vblank();
  EXPECT_EQ(queue.submit(frame, FlipQueue::Overflow::Wait), Shown::Yes);
}

TEST_F(FlipQueueTest, drain_waits_for_the_last_flip)
{
  EXPECT_TRUE(queue.drain(0));
  submit(buffer());
  submit(buffer());
  EXPECT_FALSE(queue.drain(1000));
  auto drained = std::async(std::launch::async, [this] { return queue.drain(kLong_ns); });
  vblank();
  vblank();
  EXPECT_TRUE(drained.get());
}

TEST_F(FlipQueueTest, acquire_fence_goes_with_its_own_commit_alone)
{
  const gstdrm::test::FakeFences fences([](int) { return gstdrm::FenceState::Signalled; });
  Frame frame;
  frame.owner = buffer();
  frame.acquire_fence = std::make_shared<UniqueFd>(open("/dev/null", O_RDONLY | O_CLOEXEC));
  queue.submit(frame, FlipQueue::Overflow::Replace);
  EXPECT_TRUE(target.calls.back().fence);
  vblank();
  auto capture = std::async(std::launch::async,
                            [this] { return static_cast<bool>(queue.capture(7, kLong_ns)); });
  while (queue.next_deadline() == kNever)
    std::this_thread::yield();
  now = queue.next_deadline();
  queue.on_timer(); // shows the frame once more
  EXPECT_TRUE(capture.get());
  EXPECT_FALSE(target.calls.back().fence);
}

TEST_F(FlipQueueTest, capture_needs_a_picture)
{
  const auto fence = queue.capture(7, 0);
  ASSERT_FALSE(fence);
  EXPECT_NE(fence.error().message.find("No picture"), std::string::npos);
}

TEST_F(FlipQueueTest, capture_rides_on_the_next_frame)
{
  submit(buffer());
  vblank();
  auto capture = std::async(std::launch::async,
                            [this] { return static_cast<bool>(queue.capture(7, kLong_ns)); });
  while (queue.next_deadline() == kNever)
    std::this_thread::yield();
  submit(buffer());
  EXPECT_TRUE(capture.get());
  ASSERT_EQ(target.calls.size(), 2U); // no commit of its own
  EXPECT_TRUE(target.calls.back().job);
}

TEST_F(FlipQueueTest, capture_commits_for_itself_when_no_frame_comes)
{
  auto a = buffer();
  submit(a);
  vblank();
  auto capture = std::async(std::launch::async,
                            [this] { return static_cast<bool>(queue.capture(7, kLong_ns)); });
  while (queue.next_deadline() == kNever)
    std::this_thread::yield();
  now = queue.next_deadline() - 1;
  queue.on_timer();
  EXPECT_EQ(target.calls.size(), 1U); // not yet
  now++;
  queue.on_timer();
  EXPECT_TRUE(capture.get());
  EXPECT_EQ(target.calls.back().owner, a.get());
  submit(buffer()); // waits for that commit
  EXPECT_EQ(target.calls.size(), 2U);
  vblank();
  EXPECT_EQ(target.calls.size(), 3U);
  EXPECT_EQ(queue.counters().shown, 1U); // the repeat is no frame
  vblank();
  EXPECT_EQ(queue.counters().shown, 2U);
  EXPECT_EQ(queue.counters().dropped, 0U);
}

TEST_F(FlipQueueTest, a_refused_capture_costs_no_frame)
{
  submit(buffer());
  vblank();
  auto capture = std::async(std::launch::async, [this] { return queue.capture(7, kLong_ns); });
  while (queue.next_deadline() == kNever)
    std::this_thread::yield();
  target.results = {-EINVAL, 0};
  refused++;
  EXPECT_EQ(submit(buffer()), Shown::Yes);
  EXPECT_FALSE(capture.get());
  EXPECT_FALSE(target.calls.back().job);
  vblank();
  EXPECT_EQ(queue.counters().shown, 2U);
  EXPECT_TRUE(errors.empty());
}

TEST_F(FlipQueueTest, capture_is_cancelled_by_a_stop)
{
  submit(buffer());
  auto capture = std::async(std::launch::async, [this] { return queue.capture(7, kLong_ns); });
  while (wakes == 0)
    std::this_thread::yield();
  queue.cancel_capture();
  EXPECT_FALSE(capture.get());
  // and none is begun that the stop would wait for
  EXPECT_EQ(queue.capture(7, kLong_ns).error().sys_errno, ECANCELED);
  queue.accept_captures();
  EXPECT_EQ(queue.capture(7, 0).error().sys_errno, ETIMEDOUT);
}

} // namespace
