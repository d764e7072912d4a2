// SPDX-License-Identifier: LGPL-2.1-or-later
// Whoever puts something off wakes the event thread for it, which sleeps until the deadline that it heard last.
#include <cerrno>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "changed_cursor.hpp"
#include "fake_fences.hpp"
#include "gst/kms/engine/commit/kms_flip_queue.hpp"

namespace {

using namespace gstdrm::kms;
using gstdrm::test::change_cursor;
using gstdrm::FenceState;
using gstdrm::UniqueFd;

constexpr std::int64_t kRefresh = 16'000'000;

struct Target : FlipTarget {
  std::vector<int> results; // of the next commits; then 0
  int flip(Commit &) override
  {
    if (results.empty())
      return 0;
    const int ret = results.front();
    results.erase(results.begin());
    return ret;
  }
};

class Wakes : public testing::Test {
protected:
  Wakes()
  {
    queue.set_timing(kRefresh, kRefresh);
    queue.set_fence_rules({true, 5 * kRefresh});
  }
  static Frame frame(bool fence = false)
  {
    Frame made;
    made.owner = std::make_shared<int>(0);
    if (fence)
      made.acquire_fence = std::make_shared<UniqueFd>(UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)));
    return made;
  }
  void submit(Frame made) { EXPECT_EQ(queue.submit(made, FlipQueue::Overflow::Replace), Shown::Yes); }
  // What the event thread does before it sleeps again.
  void sleep()
  {
    watched = queue.watched_fence();
    until = queue.next_deadline();
  }
  void event(std::uint64_t serial)
  {
    now += kRefresh;
    queue.on_flip(serial, ++sequence, now);
    sleep();
  }
  void settle()
  {
    submit(frame());
    event(queue.counters().commits);
  }
  // The thread sleeps no longer than the queue says now.
  void expect_heard()
  {
    EXPECT_LE(until, queue.next_deadline());
    EXPECT_EQ(watched, queue.watched_fence());
  }

  Target target;
  std::int64_t now = 1'000'000'000, until = kNever;
  SharedFence watched;
  std::uint32_t sequence = 0;
  gstdrm::test::FakeFences fences{[](int) { return FenceState::Pending; }};
  FlipQueue queue{target, [this] { return now; }, [this] { sleep(); }, [](const gstdrm::Error &) {}};
};

TEST_F(Wakes, a_busy_device)
{
  settle();
  target.results = {-EBUSY};
  submit(frame());
  EXPECT_LT(queue.next_deadline(), kNever);
  expect_heard();
}

TEST_F(Wakes, a_pending_fence)
{
  settle();
  submit(frame(true));
  EXPECT_NE(queue.watched_fence(), nullptr);
  expect_heard();
}

TEST_F(Wakes, a_change_of_the_cursor)
{
  settle();
  change_cursor(queue);
  EXPECT_LT(queue.next_deadline(), kNever);
  expect_heard();
}

TEST_F(Wakes, a_frame_that_came_during_a_claim)
{
  settle();
  queue.exclusively([this] {
    submit(frame());
    sleep(); // nothing to wait for now
    EXPECT_EQ(until, kNever);
  });
  EXPECT_LE(until, now);
}

// The event of a mode set comes before the call returns, and something else waits for its time: the event thread has
// seen a commit in flight.
TEST_F(Wakes, what_waits_behind_an_early_flip)
{
  settle();
  change_cursor(queue);
  Frame first = frame();
  EXPECT_EQ(queue.submit_with(first,
                              [this](const Commit &next) {
                                event(next.serial);
                                EXPECT_EQ(until, kNever);
                                return 0;
                              }),
            0);
  EXPECT_LT(queue.next_deadline(), kNever);
  expect_heard();
}

// In the same way a frame whose fence is pending.
TEST_F(Wakes, a_fence_behind_an_early_flip)
{
  settle();
  Frame first = frame();
  EXPECT_EQ(queue.submit_with(first,
                              [this](const Commit &next) {
                                submit(frame(true));
                                event(next.serial);
                                return 0;
                              }),
            0);
  EXPECT_NE(queue.watched_fence(), nullptr);
  expect_heard();
}

} // namespace
