// SPDX-License-Identifier: LGPL-2.1-or-later
// What the display has to change beside the picture, such as its cursor: with the frames' commits
// while frames come, in one of the queue's own while none does.
#include <cerrno>
#include <vector>

#include <gtest/gtest.h>

#include "changed_cursor.hpp"
#include "gst/kms/engine/commit/kms_flip_queue.hpp"

namespace {

using namespace gstdrm::kms;
using gstdrm::test::change_cursor;

constexpr std::int64_t kRefresh = 16'000'000;
constexpr std::int64_t kLost = 3'000'000'000; // until a flip counts as lost
constexpr std::int64_t kFrame = 3 * kRefresh;
constexpr std::int64_t kWait = kFrame + kRefresh / 2; // a frame time, and some

struct Target : FlipTarget {
  std::vector<const void *> owners; // of the frame in each commit
  std::vector<int> results;         // of the next commits; then 0
  int flip(Commit &next) override
  {
    owners.push_back(next.frame.owner.get());
    int ret = 0;
    if (!results.empty()) {
      ret = results.front();
      results.erase(results.begin());
    }
    return ret;
  }
};

class OwnCommit : public testing::Test {
protected:
  OwnCommit() { queue.set_timing(kRefresh, kFrame); }
  std::shared_ptr<int> submit()
  {
    auto owner = std::make_shared<int>(0);
    Frame frame;
    frame.owner = owner;
    EXPECT_EQ(queue.submit(frame, FlipQueue::Overflow::Replace), Shown::Yes);
    return owner;
  }
  void vblank()
  {
    now += kRefresh;
    queue.on_flip(queue.counters().commits, ++sequence, now);
  }

  Target target;
  std::int64_t now = 1'000'000'000;
  std::uint32_t sequence = 0;
  int wakes = 0;
  int failures = 0;
  FlipQueue queue{target, [this] { return now; }, [this] { wakes++; },
                  [this](const gstdrm::Error &) { failures++; }};
};

// A change before each of thirty frames: thirty commits.
TEST_F(OwnCommit, none_while_frames_come)
{
  submit();
  vblank();
  for (int i = 0; i < 30; i++) {
    change_cursor(queue);
    EXPECT_EQ(wakes, i + 1); // the event thread has another deadline
    queue.on_timer();        // too early
    submit();
    EXPECT_EQ(queue.next_deadline(), now + kLost); // it went along
    vblank();
    queue.on_timer();
    now += kFrame - kRefresh;
  }
  EXPECT_EQ(target.owners.size(), 31U);
  EXPECT_EQ(queue.counters().commits, 31U);
  EXPECT_EQ(queue.counters().shown, 31U);
}

TEST_F(OwnCommit, one_when_no_frame_comes)
{
  const auto shown = submit();
  vblank();
  change_cursor(queue);
  EXPECT_EQ(queue.next_deadline(), now + kWait);
  const std::int64_t due = now + kWait;
  now += kRefresh;
  change_cursor(queue); // a second change does not put the first one off
  EXPECT_EQ(queue.next_deadline(), due);
  now = due - 1;
  queue.on_timer();
  EXPECT_EQ(target.owners.size(), 1U);
  now = due;
  queue.on_timer();
  ASSERT_EQ(target.owners.size(), 2U);
  EXPECT_EQ(target.owners.back(), shown.get()); // the picture once more
  EXPECT_EQ(queue.next_deadline(), now + kLost);
  vblank();
  queue.on_timer();
  EXPECT_EQ(target.owners.size(), 2U);
  EXPECT_EQ(queue.counters().shown, 1U); // no frame
  EXPECT_EQ(shown.use_count(), 2);       // still on screen
}

TEST_F(OwnCommit, a_slow_stream_does_not_keep_it_for_long)
{
  queue.set_timing(kRefresh, 60'000'000'000); // a picture a minute
  submit();
  vblank();
  change_cursor(queue);
  EXPECT_EQ(queue.next_deadline(), now + 250'000'000);
}

TEST_F(OwnCommit, none_before_there_is_a_picture)
{
  change_cursor(queue);
  EXPECT_EQ(queue.next_deadline(), kNever);
  now += kWait;
  queue.on_timer();
  EXPECT_TRUE(target.owners.empty());
}

TEST_F(OwnCommit, waits_for_what_is_in_flight)
{
  submit();
  vblank();
  submit();
  change_cursor(queue);
  now += kWait;
  EXPECT_EQ(queue.next_deadline(), now - kWait + kLost);
  queue.on_timer();
  EXPECT_EQ(target.owners.size(), 2U);
  vblank(); // late, and then at once
  EXPECT_EQ(target.owners.size(), 3U);
}

TEST_F(OwnCommit, busy_puts_it_off)
{
  submit();
  vblank();
  change_cursor(queue);
  now += kWait;
  target.results = {-EBUSY};
  queue.on_timer();
  EXPECT_EQ(queue.counters().busy, 1U);
  EXPECT_EQ(queue.next_deadline(), now + kRefresh / 8);
  now = queue.next_deadline();
  queue.on_timer();
  EXPECT_EQ(queue.counters().commits, 2U);
  EXPECT_EQ(queue.next_deadline(), now + kLost);
}

// A refused cursor costs no picture: it is tried with the next frame.
TEST_F(OwnCommit, a_refusal_is_no_failure)
{
  submit();
  vblank();
  change_cursor(queue);
  now += kWait;
  target.results = {-EINVAL};
  queue.on_timer();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(queue.next_deadline(), kNever);
  EXPECT_FALSE(queue.failure());
  submit();
  vblank();
  EXPECT_EQ(queue.counters().shown, 2U);
}

TEST_F(OwnCommit, clear_forgets_it)
{
  submit();
  vblank();
  change_cursor(queue);
  queue.clear();
  submit();
  vblank();
  EXPECT_EQ(queue.next_deadline(), now - kRefresh + kLost);
}

} // namespace
