// SPDX-License-Identifier: LGPL-2.1-or-later
// The queue on a CRTC that another program commits on too: whose turn it is.
#include <cerrno>
#include <chrono>

#include "kms_flip_queue_edges.hpp"

namespace {

using namespace gstdrm::test;

class SharedCrtc : public Edges {};

// Another program's commit is in flight until the next vblank, unless the vblank is just over.
TEST_F(SharedCrtc, a_commit_that_was_put_off_waits_for_the_next_vblank)
{
  settle();
  queue.set_shared(true);
  const std::int64_t vblank_at = now + kRefresh;
  target.results = {-EBUSY, -EBUSY};
  now += kRefresh / 2;
  submit(frame());
  EXPECT_EQ(queue.next_deadline(), vblank_at + kRefresh / 8);
  now = vblank_at + kRefresh / 8;
  queue.on_timer();
  EXPECT_EQ(queue.next_deadline(), now + kRefresh / 8);
}

// Whoever draws when it sees a vblank would get EBUSY after a commit that was made right then.
TEST_F(SharedCrtc, others_come_first_after_a_vblank)
{
  settle();
  queue.set_shared(true);
  const std::size_t before = target.fences.size();
  submit(frame());
  EXPECT_EQ(target.fences.size(), before);
  EXPECT_EQ(queue.next_deadline(), now + kRefresh / 8);
  submit(frame()); // replaces none that is about to be committed
  EXPECT_EQ(queue.counters().dropped, 0U);
  now += kRefresh / 8;
  queue.on_timer();
  EXPECT_EQ(target.fences.size(), before + 1);
  now += 3 * kRefresh - kRefresh / 8;
  queue.on_flip(queue.counters().commits, ++sequence, now);
  EXPECT_EQ(target.fences.size(), before + 1); // the second frame
  EXPECT_EQ(queue.next_deadline(), now + kRefresh / 8);
  now += kRefresh / 8;
  queue.on_timer();
  EXPECT_EQ(target.fences.size(), before + 2);
}

TEST_F(SharedCrtc, later_frames_and_changes_wait_for_nothing)
{
  queue.set_shared(true);
  submit(frame()); // nobody knows the vblanks yet
  EXPECT_EQ(target.fences.size(), 1U);
  vblank();
  EXPECT_EQ(queue.next_deadline(), kNever); // and nothing waits
  now += 5 * kRefresh + kRefresh / 8;
  submit(frame());
  EXPECT_EQ(target.fences.size(), 2U);
}

// The hardware may latch such a commit after the vblank, in the turn of others.
TEST_F(SharedCrtc, nothing_is_committed_right_before_a_vblank)
{
  settle();
  queue.set_shared(true);
  const std::int64_t vblank_at = now + kRefresh;
  const std::size_t before = target.fences.size();
  now = vblank_at - kRefresh / 8;
  submit(frame());
  EXPECT_EQ(target.fences.size(), before);
  EXPECT_EQ(queue.next_deadline(), vblank_at + kRefresh / 8);
  now = vblank_at + kRefresh / 8;
  queue.on_timer();
  EXPECT_EQ(target.fences.size(), before + 1);
}

// Before the first flip the device is asked, and never while flips tell.
TEST_F(SharedCrtc, others_come_before_the_first_frame_too)
{
  queue.set_shared(true);
  target.vblank = now - 3 * kRefresh - kRefresh / 16;
  submit(frame());
  EXPECT_EQ(target.fences.size(), 0U);
  EXPECT_EQ(queue.next_deadline(), now + kRefresh / 16);
  now += kRefresh / 16;
  queue.on_timer();
  EXPECT_EQ(target.fences.size(), 1U);
  vblank();
  const int before = target.questions;
  for (int i = 0; i < 3; i++) {
    now += kRefresh / 2;
    submit(frame());
    now -= kRefresh / 2;
    vblank();
  }
  EXPECT_EQ(target.fences.size(), 4U);
  EXPECT_EQ(target.questions, before);
}

// Clocks differ: what a flip of long ago told says nothing of the vblanks now.
TEST_F(SharedCrtc, others_come_first_after_a_long_pause)
{
  settle();
  queue.set_shared(true);
  now += 1000 * kRefresh + kRefresh / 2;
  target.vblank = now - kRefresh / 16;
  const std::size_t before = target.fences.size();
  submit(frame());
  EXPECT_EQ(target.fences.size(), before);
  EXPECT_EQ(queue.next_deadline(), now + kRefresh / 16);
}

// A mode set, or a first frame: its caller sleeps for the turn of others.
TEST_F(SharedCrtc, others_come_before_a_change)
{
  using std::chrono::steady_clock, std::chrono::nanoseconds;
  queue.set_shared(true);
  target.vblank = now;
  const steady_clock::time_point before = steady_clock::now();
  Frame first = frame();
  EXPECT_EQ(queue.submit_with(first,
                              [&](const Commit &) {
                                EXPECT_GE(steady_clock::now() - before, nanoseconds(kRefresh / 8));
                                return 0;
                              }),
            0);
  EXPECT_EQ(target.questions, 1);
}

TEST_F(SharedCrtc, that_is_not_shared_is_not_asked_for_its_vblanks)
{
  Frame first = frame();
  EXPECT_EQ(queue.submit_with(first, [](const Commit &) { return 0; }), 0);
  vblank();
  now += 1000 * kRefresh;
  submit(frame());
  EXPECT_EQ(target.fences.size(), 1U);
  EXPECT_EQ(target.questions, 0);
}

} // namespace
