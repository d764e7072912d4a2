// SPDX-License-Identifier: LGPL-2.1-or-later
// The queue at its edges: mode sets, failures, what clear() forgets, and whom a fence is waited
// for.
#include "changed_cursor.hpp"
#include "kms_flip_queue_edges.hpp"

#include <cerrno>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <future>
#include <gtest/gtest.h>

namespace {

using namespace gstdrm::kms;
using namespace gstdrm::test;
using gstdrm::FenceState;

TEST_F(Edges, a_stream_faster_than_the_display_waits_a_refresh_for_company)
{
  queue.set_timing(kRefresh, kRefresh / 4);
  settle();
  change_cursor(queue);
  EXPECT_EQ(queue.next_deadline(), now + kRefresh + kRefresh / 2);
}

TEST_F(Edges, what_a_mode_set_shows_is_a_whole_refresh_away)
{
  settle();
  now += 10 * kRefresh + kRefresh / 8;
  Frame first = frame();
  EXPECT_EQ(queue.submit_with(first, [](const Commit &) { return 0; }), 0);
  submit(frame());
  submit(frame());
  EXPECT_EQ(queue.counters().dropped, 1U);
}

TEST_F(Edges, a_mode_set_leaves_no_fence_behind)
{
  Frame first = frame(true);
  EXPECT_EQ(queue.submit_with(first, [](const Commit &) { return 0; }), 0);
  EXPECT_EQ(queue.counters().held, 1U); // in flight
  vblank();
  change_cursor(queue);
  now = queue.next_deadline();
  queue.on_timer();
  ASSERT_EQ(target.fences.size(), 1U);
  EXPECT_FALSE(target.fences.back());
}

TEST_F(Edges, a_refused_mode_set_changes_nothing)
{
  Frame first = frame(true);
  EXPECT_EQ(queue.submit_with(first, [](const Commit &) { return -EINVAL; }), -EINVAL);
  EXPECT_NE(first.owner, nullptr);
  EXPECT_NE(first.acquire_fence, nullptr);
  EXPECT_EQ(queue.counters().commits, 0U);
  EXPECT_EQ(queue.counters().held, 0U);
}

// A mode set sleeps for as long as a display takes. Whatever the event thread and the application
// call meanwhile returns at once, and commits nothing.
TEST_F(Edges, nobody_waits_for_a_mode_set)
{
  settle();
  change_cursor(queue);
  Frame first = frame();
  const std::size_t before = target.fences.size();
  std::int64_t deadline = 0;
  const int ret = queue.submit_with(first, [&](const Commit &next) {
    now += 60 * kRefresh;
    deadline = queue.next_deadline();
    queue.on_timer();
    EXPECT_EQ(queue.watched_fence(), nullptr);
    EXPECT_EQ(queue.counters().shown, 1U);
    EXPECT_FALSE(queue.drain(0));
    EXPECT_EQ(target.fences.size(), before);
    queue.on_flip(next.serial, 7, now); // the event comes before the call returns
    EXPECT_EQ(queue.counters().shown, 1U);
    return 0;
  });
  EXPECT_EQ(ret, 0);
  EXPECT_EQ(deadline, kNever);
  EXPECT_EQ(queue.counters().shown, 2U);
  EXPECT_EQ(queue.counters().last_sequence, 7U);
  EXPECT_EQ(queue.counters().held, 1U);
  EXPECT_EQ(target.fences.size(), before + 1); // the cursor, which has waited
}

// The event of a refused commit is nobody's, whatever serial the next commit has.
// As a snapshot has it, whose mode sets are another thread's than the frames.
TEST_F(Edges, a_frame_whose_turn_comes_during_a_claim_is_committed_after_it)
{
  settle();
  queue.exclusively([this] { submit(frame()); });
  EXPECT_EQ(target.fences.size(), 1U);
  EXPECT_LE(queue.next_deadline(), now); // the event thread is woken for it
  queue.on_timer();
  EXPECT_EQ(target.fences.size(), 2U);
  submit(frame());
  queue.exclusively([this] { vblank(); });
  EXPECT_EQ(target.fences.size(), 2U);
  EXPECT_LE(queue.next_deadline(), now);
  queue.on_timer();
  EXPECT_EQ(target.fences.size(), 3U);
}

TEST_F(Edges, an_early_flip_is_of_its_own_mode_set)
{
  Frame first = frame();
  EXPECT_NE(queue.submit_with(first,
                              [&](const Commit &next) {
                                queue.on_flip(next.serial, 7, now);
                                return -EINVAL;
                              }),
            0);
  EXPECT_EQ(queue.submit_with(first, [](const Commit &) { return 0; }), 0);
  EXPECT_EQ(queue.counters().shown, 0U);
}

// The wait for a flip that does not come ends before a mode set. Its frame may be on screen until
// the flip of the mode set.
TEST_F(Edges, a_frame_that_a_mode_set_supersedes_is_kept_until_its_flip)
{
  Frame first = frame(), second = frame(), third = frame();
  const std::weak_ptr<void> buffers[] = {first.owner, second.owner, third.owner};
  submit(std::move(first));
  vblank();
  submit(std::move(second));
  EXPECT_FALSE(queue.drain(0));
  EXPECT_EQ(queue.submit_with(third, [](const Commit &) { return 0; }), 0);
  EXPECT_FALSE(buffers[0].expired());
  EXPECT_FALSE(buffers[1].expired());
  EXPECT_EQ(queue.counters().held, 3U);
  queue.on_flip(2, ++sequence, now); // late, and not what is on screen now
  EXPECT_FALSE(buffers[1].expired());
  vblank();
  EXPECT_TRUE(buffers[0].expired());
  EXPECT_TRUE(buffers[1].expired());
  EXPECT_FALSE(buffers[2].expired());
}

// A commit for the cursor is in flight, and its flip does not come.
TEST_F(Edges, the_flip_of_a_mode_set_is_no_repeat)
{
  settle();
  change_cursor(queue);
  now = queue.next_deadline();
  queue.on_timer();
  Frame first = frame();
  EXPECT_EQ(queue.submit_with(first, [](const Commit &) { return 0; }), 0);
  vblank();
  EXPECT_EQ(queue.counters().shown, 2U);
}

TEST_F(Edges, a_failure_drops_and_counts_what_waits)
{
  settle();
  submit(frame());
  submit(frame());
  target.results = {-EPERM};
  vblank();
  EXPECT_EQ(queue.counters().dropped, 1U);
  EXPECT_EQ(queue.counters().held, 1U); // on screen
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors[0].message.find("Another program"), std::string::npos) << errors[0].message;
  const auto capture = queue.capture(7, 0); // says why, and does not wait
  ASSERT_FALSE(capture);
  EXPECT_EQ(capture.error().sys_errno, EPERM);
  queue.forgive();
  EXPECT_EQ(submit(frame()), Shown::Yes);
}

TEST_F(Edges, each_errno_of_a_commit_has_its_own_cure)
{
  const std::pair<int, const char *> rows[] = {{EACCES, "Another program"},
                                               {EPERM, "Another program"},
                                               {ENODEV, "removed"},
                                               {EIO, "removed"},
                                               {EINVAL, "GST_DEBUG"}};
  for (const auto &[error, cure] : rows) {
    target.results = {-error};
    EXPECT_EQ(submit(frame()), Shown::Failed);
    EXPECT_NE(errors.back().message.find(cure), std::string::npos) << errors.back().message;
    queue.clear();
  }
}

TEST_F(Edges, clear_forgets_retries_and_late_frames)
{
  submit(frame(false, now - 3 * kRefresh));
  vblank();
  EXPECT_EQ(queue.counters().late, 1U);
  queue.clear();
  EXPECT_FALSE(queue.take_late());
  target.results = {-EBUSY};
  submit(frame());
  EXPECT_NE(queue.next_deadline(), kNever);
  queue.clear();
  EXPECT_EQ(queue.next_deadline(), kNever);
}

TEST_F(Edges, a_retry_that_succeeded_is_not_repeated)
{
  target.results = {-EBUSY};
  submit(frame());
  now = queue.next_deadline();
  queue.on_timer();
  vblank();
  EXPECT_EQ(queue.next_deadline(), kNever);
}

TEST_F(Edges, captures_come_one_after_the_other)
{
  settle();
  for (int i = 0; i < 3; i++) {
    auto capture = std::async(std::launch::async, [this] { return queue.capture(7, kLong_ns); });
    while (queue.next_deadline() == kNever)
      std::this_thread::yield();
    EXPECT_EQ(queue.capture(8, 0).error().sys_errno, EBUSY); // one at a time
    submit(frame());
    EXPECT_TRUE(capture.get());
    vblank();
  }
}

TEST_F(Edges, a_capture_of_a_slow_stream_waits_a_quarter_of_a_second)
{
  queue.set_timing(kRefresh, 60'000'000'000);
  settle();
  auto capture = std::async(std::launch::async, [this] { return queue.capture(7, kLong_ns); });
  while (queue.next_deadline() == kNever)
    std::this_thread::yield();
  EXPECT_EQ(queue.next_deadline(), now + 250'000'000);
  queue.cancel_capture();
  EXPECT_FALSE(capture.get());
}

TEST_F(Edges, a_lost_display_ends_a_capture)
{
  settle();
  auto capture = std::async(std::launch::async, [this] { return queue.capture(7, kLong_ns); });
  while (queue.next_deadline() == kNever)
    std::this_thread::yield();
  queue.abort({gstdrm::ErrorCode::Device, "gone", ENODEV});
  EXPECT_EQ(capture.get().error().sys_errno, EIO);
}

TEST_F(Edges, the_first_reason_of_a_lost_display_stays)
{
  settle();
  queue.abort({gstdrm::ErrorCode::Device, "gone", ENODEV});
  queue.abort({gstdrm::ErrorCode::Device, "and the next call failed, too", EIO});
  ASSERT_TRUE(queue.failure());
  EXPECT_EQ(queue.failure()->sys_errno, ENODEV);
}

TEST_F(Edges, without_memory_the_display_fails_and_what_waits_is_kept_for_clear)
{
  settle();
  const Frame waits = frame(true);
  submit(waits);
  auto capture = std::async(std::launch::async, [this] { return queue.capture(7, kLong_ns); });
  while (queue.next_deadline() != now + kRefresh + kRefresh / 2)
    std::this_thread::yield();
  queue.give_up();
  EXPECT_EQ(capture.get().error().sys_errno, EIO);
  ASSERT_TRUE(queue.failure());
  EXPECT_EQ(queue.failure()->sys_errno, ENOMEM);
  Frame next = frame();
  EXPECT_EQ(queue.submit(next, FlipQueue::Overflow::Wait), Shown::Failed);
  EXPECT_EQ(queue.counters().waits, 0U);
  EXPECT_EQ(waits.owner.use_count(), 2);
  queue.clear();
  EXPECT_EQ(waits.owner.use_count(), 1);
}

TEST_F(Edges, a_lost_display_ends_the_wait_before_a_mode_set)
{
  Frame first = frame(true);
  auto awaited = std::async(std::launch::async, [&] { return queue.await_fence(first); });
  while (!queue.watched_fence())
    std::this_thread::yield();
  queue.abort({gstdrm::ErrorCode::Device, "gone", ENODEV});
  EXPECT_EQ(awaited.get(), Shown::Failed);
}

TEST_F(Edges, a_ready_frame_that_is_put_off_is_not_watched)
{
  settle();
  probe = [] { return FenceState::Signalled; };
  target.results = {-EBUSY};
  submit(frame(true));
  EXPECT_EQ(queue.watched_fence(), nullptr);
  EXPECT_EQ(queue.next_deadline(), now + kRefresh / 8);
}

// A driver refuses its fence, and then the fence is not there any more: the frame has as long as
// any, from when it came. After the limit as well: the fence has signalled once.
TEST_F(Edges, a_frame_whose_fence_was_refused_is_committed_at_once_without)
{
  settle();
  FenceState state = FenceState::Pending;
  probe = [&state] { return state; };
  submit(frame(true));
  EXPECT_EQ(queue.next_deadline(), now + kTimeout);
  now += kTimeout + kRefresh;
  state = FenceState::Signalled;
  target.results = {-EINVAL};
  queue.on_timer();
  ASSERT_EQ(target.fences.size(), 3U);
  EXPECT_TRUE(target.fences[1]);
  EXPECT_FALSE(target.fences[2]);
  EXPECT_EQ(queue.counters().fence_timeouts, 0U);
}

TEST_F(Edges, a_second_frame_may_wait_from_the_last_quarter_of_a_refresh_on)
{
  settle();
  submit(frame());
  now += kRefresh - kRefresh / 4 - 1;
  submit(frame());
  submit(frame());
  EXPECT_EQ(queue.counters().dropped, 1U);
  now++;
  submit(frame());
  EXPECT_EQ(queue.counters().dropped, 1U);
}

// The front frame is kept while the display is idle. In flight there is a frame to show.
TEST_F(Edges, while_a_frame_is_in_flight_the_oldest_that_waits_is_dropped)
{
  settle();
  submit(frame());
  now += kRefresh - kRefresh / 8;
  Frame first = frame(true), second = frame(true);
  const std::weak_ptr<void> buffers[] = {first.owner, second.owner};
  submit(std::move(first));
  submit(std::move(second));
  submit(frame(true));
  EXPECT_EQ(queue.counters().dropped, 1U);
  EXPECT_TRUE(buffers[0].expired());
  EXPECT_FALSE(buffers[1].expired());
}

TEST_F(Edges, late_is_more_than_an_eighth_beyond_a_refresh)
{
  submit(frame(false, now - kRefresh / 8));
  vblank();
  EXPECT_EQ(queue.counters().late, 0U);
  submit(frame(false, now - kRefresh / 8 - 1));
  vblank();
  EXPECT_EQ(queue.counters().late, 1U);
}

TEST_F(Edges, a_flip_of_no_commit_is_nobodys)
{
  queue.on_flip(1, 7, now);
  Frame first = frame();
  EXPECT_EQ(queue.submit_with(first, [](const Commit &) { return 0; }), 0);
  EXPECT_EQ(queue.counters().shown, 0U);
}

// Whoever drains finds every buffer given back: not while the last is on its way.
TEST_F(Edges, is_not_drained_while_it_gives_back)
{
  bool drained = true;
  Frame first;
  first.owner = std::shared_ptr<int>(new int(0), [&](int *owner) {
    drained = queue.drain(0);
    delete owner;
  });
  submit(std::move(first));
  vblank();
  submit(frame());
  vblank(); // gives the first one back
  EXPECT_FALSE(drained);
  EXPECT_TRUE(queue.drain(0));
}

// A mode set that returns late and the event thread may both be at it.
TEST_F(Edges, is_not_drained_while_another_flip_has_given_back)
{
  bool drained = true;
  Frame first;
  first.owner = std::shared_ptr<int>(new int(0), [&](int *owner) {
    vblank(); // gives the second one back, wholly
    drained = queue.drain(0);
    delete owner;
  });
  submit(std::move(first));
  vblank();
  submit(frame());
  submit(frame());
  vblank(); // gives the first one back
  EXPECT_FALSE(drained);
  EXPECT_TRUE(queue.drain(0));
}

} // namespace
