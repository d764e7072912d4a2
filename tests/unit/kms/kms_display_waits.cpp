// SPDX-License-Identifier: LGPL-2.1-or-later
// Every place where a thread sleeps in a display: a flush, or a stop by another thread, ends the wait, and the display is free.
#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>

#include "fake_writeback.hpp"
#include "kms_display_fixture.hpp"
#include "support/threads.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

class Waits : public DisplayTest {
protected:
  void start()
  {
    auto opened = open();
    ASSERT_TRUE(opened) << opened.error().message;
    display = *opened;
    ASSERT_TRUE(display->start() && display->configure(picture(1024, 768)));
    ASSERT_TRUE(show_one() && display->drain(kLong_ns));
  }
  Result<Shown> show_one() { return show(*display, xrgb(memory, 1024, 768)); }
  void TearDown() override
  {
    (void)display->stop();
    display.reset();
  }
  // The flips of commits complete no more.
  static void hold_flips()
  {
    const std::lock_guard guard(fakedrm::device().lock);
    fakedrm::device().send_events = false;
  }
  // Runs `wait` on a thread of its own, and `end` when that one sleeps.
  static void end_while_it_sleeps(const std::function<void()> &wait, const std::function<void()> &end)
  {
    std::atomic<pid_t> sleeper{0};
    std::thread thread([&] {
      sleeper = gettid();
      wait();
    });
    while (sleeper == 0 || state_of_thread(sleeper) != 'S')
      std::this_thread::yield();
    end();
    thread.join();
  }
  static bool has_written()
  {
    const std::lock_guard guard(fakedrm::device().lock);
    for (const fakedrm::Commit &commit : fakedrm::device().commits)
      if (commit.values.count({fakedrm::kWriteback, "WRITEBACK_OUT_FENCE_PTR"}))
        return true;
    return false;
  }

  std::shared_ptr<Display> display;
};

TEST_F(Waits, a_frame_that_waits_for_its_turn)
{
  start();
  hold_flips();
  ASSERT_TRUE(show_one() && show_one()); // in flight, and waiting
  Result<Shown> shown = Error{};
  end_while_it_sleeps([&] { shown = show_one(); }, [&] { display->set_flushing(true); });
  ASSERT_TRUE(shown);
  EXPECT_EQ(*shown, Shown::Flushing);
}

TEST_F(Waits, a_mode_set_that_waits_for_a_flip)
{
  start();
  hold_flips();
  ASSERT_TRUE(show_one());
  ASSERT_TRUE(display->configure(picture(640, 480)));
  Result<Shown> shown = Error{};
  end_while_it_sleeps([&] { shown = show(*display, xrgb(memory, 640, 480)); }, [&] { display->set_flushing(true); });
  ASSERT_TRUE(shown);
  EXPECT_EQ(*shown, Shown::Flushing);
  EXPECT_EQ(fakedrm::device().commits.size(), 2U);
}

TEST_F(Waits, a_first_frame_that_waits_for_a_busy_device)
{
  start();
  Picture other = picture(1024, 768);
  other.format.fourcc = DRM_FORMAT_NV12;
  ASSERT_TRUE(display->configure(other));
  fakedrm::device().busy_commits = 1000000;
  display->set_flushing(true);
  const auto shown = show(*display, nv12(memory, memory, 1024, 768));
  ASSERT_TRUE(shown);
  EXPECT_EQ(*shown, Shown::Flushing);
  EXPECT_EQ(fakedrm::device().busy_commits, 1000000); // nobody asked
  fakedrm::device().busy_commits = 0;
}

TEST_F(Waits, the_end_of_the_stream)
{
  start();
  hold_flips();
  ASSERT_TRUE(show_one());
  bool drained = true;
  end_while_it_sleeps([&] { drained = display->drain(kLong_ns); }, [&] { display->set_flushing(true); });
  EXPECT_FALSE(drained);
}

// Of a commit that waits for a flip.
TEST_F(Waits, a_snapshot_that_waits_for_its_commit)
{
  start();
  hold_flips();
  ASSERT_TRUE(show_one());
  Result<Snapshot> snapshot = Error{};
  end_while_it_sleeps([&] { snapshot = display->snapshot(); }, [&] { EXPECT_TRUE(display->stop()); });
  ASSERT_FALSE(snapshot);
}

// The driver never tells that it has written: a second snapshot waits behind the first, and NULL for neither.
TEST_F(Waits, a_snapshot_that_waits_for_the_driver)
{
  start();
  fakedrm::writebacks_hang = true;
  Result<Snapshot> first = Error{}, second = Error{};
  std::thread behind;
  end_while_it_sleeps(
      [&] { first = display->snapshot(); },
      [&] {
        while (!has_written())
          std::this_thread::yield();
        behind = std::thread([&] { second = display->snapshot(); });
        EXPECT_TRUE(display->stop());
      });
  behind.join();
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().sys_errno, ECANCELED) << first.error().message;
  ASSERT_FALSE(second);
  // and the next start takes one again
  fakedrm::writebacks_hang = false;
  ASSERT_TRUE(display->start() && display->configure(picture(1024, 768)));
  ASSERT_TRUE(show_one() && display->drain(kLong_ns));
  const Result<Snapshot> third = display->snapshot();
  ASSERT_FALSE(third); // of /dev/null
  EXPECT_NE(third.error().sys_errno, ECANCELED) << third.error().message;
}

} // namespace
