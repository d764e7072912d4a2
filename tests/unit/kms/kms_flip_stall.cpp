// SPDX-License-Identifier: LGPL-2.1-or-later
// The queue's patience: flips that never complete, a device that is busy without an end, and what a
// flip lacks for a moment. With a clock that stands still.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <future>
#include <gtest/gtest.h>

#include "changed_cursor.hpp"
#include "gst/kms/engine/commit/kms_flip_queue.hpp"

namespace {

using namespace gstdrm::kms;
using gstdrm::test::change_cursor;

constexpr std::int64_t kRefresh = 16'000'000;
constexpr std::int64_t kStall = 3'000'000'000;

struct Target : FlipTarget {
  std::vector<int> results; // of the next commits; then `rest`
  int rest = 0;
  int calls = 0, fences = 0;
  int flip(Commit &next) override
  {
    calls++;
    fences += next.wants_out_fence ? 1 : 0;
    const int ret = results.empty() ? rest : results.front();
    if (!results.empty())
      results.erase(results.begin());
    if (ret == 0 && next.wants_out_fence)
      next.out_fence = gstdrm::UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    return ret;
  }
};

class Stall : public testing::Test {
protected:
  Stall() { queue.set_timing(kRefresh, kRefresh); }
  std::weak_ptr<int> submit()
  {
    Frame frame;
    const auto owner = std::make_shared<int>(0);
    frame.owner = owner;
    outcome = queue.submit(frame, FlipQueue::Overflow::Replace);
    return owner;
  }
  void vblank()
  {
    now += kRefresh;
    queue.on_flip(queue.counters().commits, 1, now);
  }
  // As the event thread does: sleeps until the deadline.
  void sleep()
  {
    ASSERT_NE(queue.next_deadline(), kNever);
    now = std::max(now, queue.next_deadline());
    queue.on_timer();
  }

  Target target;
  std::int64_t now = 1'000'000'000;
  Shown outcome{};
  std::atomic<int> wakes{0}; // on any thread
  std::vector<gstdrm::Error> errors;
  FlipQueue queue{target, [this] { return now; }, [this] { wakes++; },
                  [this](const gstdrm::Error &error) { errors.push_back(error); }};
};

TEST_F(Stall, a_flip_that_never_comes_is_a_failure)
{
  const auto first = submit();
  vblank();
  const auto lost = submit();
  EXPECT_EQ(queue.next_deadline(), now + kStall);
  now += kStall - 1;
  queue.on_timer();
  EXPECT_TRUE(errors.empty());
  sleep();
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_TRUE(FlipQueue::is_stall(errors[0])) << errors[0].message;
  EXPECT_EQ(queue.next_deadline(), kNever);
  submit();
  EXPECT_EQ(outcome, Shown::Failed);
  EXPECT_FALSE(first.expired()); // on screen, as far as anybody knows
  EXPECT_FALSE(lost.expired());
}

TEST_F(Stall, what_may_be_on_screen_is_kept_until_the_next_flip)
{
  const auto first = submit();
  vblank();
  const auto lost = submit();
  sleep();
  EXPECT_TRUE(queue.end_stall());
  EXPECT_FALSE(queue.end_stall());
  EXPECT_TRUE(queue.drain(0)); // nothing is waited for
  queue.on_flip(2, 1, now);    // the lost one comes after all
  EXPECT_FALSE(first.expired());
  EXPECT_FALSE(lost.expired());
  Frame frame;
  ASSERT_EQ(queue.submit_with(frame, [](const Commit &) { return 0; }), 0);
  vblank();
  EXPECT_TRUE(first.expired());
  EXPECT_TRUE(lost.expired());
}

// Once it is set up anew; a display that is dead is not set up for ever.
TEST_F(Stall, a_second_one_in_a_row_ends_the_stream)
{
  submit();
  sleep();
  EXPECT_TRUE(queue.end_stall());
  submit();
  sleep();
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_FALSE(FlipQueue::is_stall(errors[1])) << errors[1].message;
  EXPECT_EQ(errors[1].sys_errno, ETIMEDOUT);
}

TEST_F(Stall, one_after_a_flip_is_the_first_again)
{
  submit();
  sleep();
  EXPECT_TRUE(queue.end_stall());
  submit();
  vblank();
  submit();
  sleep();
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_TRUE(FlipQueue::is_stall(errors[1]));
}

TEST_F(Stall, a_slow_display_has_ten_refreshes)
{
  queue.set_timing(1'000'000'000, 1'000'000'000);
  submit();
  EXPECT_EQ(queue.next_deadline(), now + 10'000'000'000);
}

TEST_F(Stall, a_picture_that_was_committed_again_counts_too)
{
  submit();
  vblank();
  change_cursor(queue);
  sleep(); // the commit
  sleep();
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_TRUE(FlipQueue::is_stall(errors[0]));
}

TEST_F(Stall, a_mode_set_may_take_longer)
{
  Frame frame;
  const auto commit = [&](const Commit &) {
    now += 2 * kStall;
    queue.on_timer();
    EXPECT_EQ(queue.next_deadline(), kNever);
    return 0;
  };
  submit();
  ASSERT_EQ(queue.submit_with(frame, commit), 0);
  queue.on_timer();
  EXPECT_TRUE(errors.empty());
}

// A thread that waits for its turn.
TEST_F(Stall, ends_a_wait)
{
  submit();
  submit();
  auto third = std::async(std::launch::async, [this] {
    Frame frame;
    return queue.submit(frame, FlipQueue::Overflow::Wait);
  });
  while (queue.counters().waits == 0)
    std::this_thread::yield();
  sleep();
  EXPECT_EQ(third.get(), Shown::Failed);
}

TEST_F(Stall, busy_is_not_waited_out_for_ever)
{
  submit();
  vblank();
  target.rest = -EBUSY;
  const std::int64_t begin = now;
  submit();
  while (errors.empty())
    ASSERT_NO_FATAL_FAILURE(sleep());
  EXPECT_GE(now - begin, kStall);
  EXPECT_LE(now - begin, kStall + kRefresh);
  EXPECT_TRUE(FlipQueue::is_stall(errors[0])) << errors[0].message;
}

TEST_F(Stall, patience_begins_anew_with_each_commit)
{
  submit();
  vblank();
  for (int i = 0; i < 3; i++) {
    target.results = std::vector<int>(1000, -EBUSY); // 2 s of them
    submit();
    while (!target.results.empty())
      ASSERT_NO_FATAL_FAILURE(sleep());
    sleep();
    vblank();
  }
  EXPECT_TRUE(errors.empty());
}

// What others have for a moment.
TEST_F(Stall, a_passing_lack_drops_no_frame)
{
  for (const int lack : {ENOMEM, ENOSPC, EMFILE, ENFILE}) {
    submit();
    vblank();
    target.results = {-lack, -lack};
    submit();
    sleep();
    sleep();
    vblank();
    EXPECT_TRUE(errors.empty()) << lack;
  }
  EXPECT_EQ(queue.counters().shown, 8U);
  EXPECT_EQ(queue.counters().dropped, 0U);
}

TEST_F(Stall, a_lasting_lack_is_a_failure)
{
  submit();
  vblank();
  target.rest = -ENOMEM;
  const std::int64_t begin = now;
  submit();
  while (errors.empty())
    ASSERT_NO_FATAL_FAILURE(sleep());
  EXPECT_EQ(errors[0].sys_errno, ENOMEM);
  EXPECT_GE(now - begin, 100'000'000);
  EXPECT_LE(now - begin, 100'000'000 + kRefresh);
}

TEST_F(Stall, without_a_descriptor_for_its_fence_a_frame_is_shown_all_the_same)
{
  Frame shown;
  shown.owner = std::make_shared<int>(0);
  shown.replaced = [](void *, gstdrm::UniqueFd) noexcept { FAIL() << "no fence was made"; };
  queue.submit(shown, FlipQueue::Overflow::Replace);
  vblank();
  target.results = {-EMFILE};
  submit();
  vblank();
  EXPECT_EQ(target.calls, 3);
  EXPECT_EQ(target.fences, 1);
  EXPECT_EQ(queue.counters().shown, 2U);
  EXPECT_EQ(queue.counters().busy, 0U);
  EXPECT_TRUE(errors.empty());
}

// A changed cursor comes although the display refuses the picture that is to be written back with
// it.
TEST_F(Stall, a_refused_snapshot_takes_nothing_with_it)
{
  submit();
  vblank();
  change_cursor(queue);
  auto snapshot = std::async(std::launch::async, [this] { return queue.capture(7, kStall * 100); });
  const std::int64_t cursor_at = queue.next_deadline();
  while (snapshot.wait_for(std::chrono::seconds(0)) != std::future_status::ready && wakes < 2)
    std::this_thread::yield(); // one wake for the cursor, one of capture()
  EXPECT_EQ(queue.next_deadline(), cursor_at);
  target.results = {-EINVAL};
  sleep();
  EXPECT_FALSE(snapshot.get());
  sleep();
  EXPECT_EQ(target.calls, 3);
  EXPECT_EQ(queue.counters().commits, 2U);
}

// The display waits for frames: one that is committed late completes at once, and does not wait for
// a vblank of a clock that has stopped.
TEST_F(Stall, a_second_frame_waits_with_variable_refresh)
{
  for (const bool on_demand : {false, true}) {
    queue.set_timing(kRefresh, 3 * kRefresh, on_demand);
    submit();
    vblank();
    const std::uint64_t dropped = queue.counters().dropped;
    now += 2 * kRefresh + kRefresh / 8; // of a fixed refresh the next vblank is far
    submit();
    submit();
    submit();
    EXPECT_EQ(queue.counters().dropped - dropped, on_demand ? 0U : 1U);
    for (int i = 0; i < 3; i++)
      vblank();
  }
}

TEST(FenceTime, without_an_overflow)
{
  const FenceRules rules{true, INT64_MAX - 1};
  const auto fence = std::make_shared<gstdrm::UniqueFd>(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(rules.wait_for(fence, 5'000'000'000).give_up_at, kNever);
}

} // namespace
