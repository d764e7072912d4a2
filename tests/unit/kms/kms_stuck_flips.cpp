// SPDX-License-Identifier: LGPL-2.1-or-later
// A flip that does not complete for longer than anybody waits: no buffer goes back while the
// display may read it. On the fake libdrm.
#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>

#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

class StuckFlips : public DisplayTest {
protected:
  StuckFlips()
  {
    auto opened = open();
    EXPECT_TRUE(opened) << opened.error().message;
    display = *opened;
    EXPECT_TRUE(display->start() && display->configure(picture(640, 480)));
  }
  ~StuckFlips() override
  {
    (void)display->stop();
    display.reset();
    EXPECT_EQ(given_back_while_shown, 0);
  }

  // Its buffer tells when it is given back, and whether its framebuffer is there yet: the kernel
  // takes a framebuffer that is removed off the screen.
  std::weak_ptr<int> push(const Memory &of, std::uint32_t width, std::uint32_t height)
  {
    Frame frame;
    {
      Result<FramebufferCache::Import> import = display->import(xrgb(of, width, height));
      EXPECT_TRUE(import);
      frame.framebuffer = import->imported;
    }
    const std::uint32_t id = frame.framebuffer->id();
    const std::shared_ptr<int> owner(new int(0), [this, id](int *number) {
      delete number;
      const std::lock_guard guard(fakedrm::device().lock);
      if (must_be_off && fakedrm::device().framebuffers.count(id))
        given_back_while_shown++;
    });
    frame.owner = owner;
    const auto shown = display->show(frame, FlipQueue::Overflow::Replace);
    EXPECT_TRUE(shown);
    return owner;
  }

  // Nothing can be turned off by a commit any more.
  void refuse_commits()
  {
    must_be_off = true;
    fakedrm::device().error = EINVAL;
    fakedrm::device().fail_call = "drmModeAtomicCommit";
  }
  void expect_given_back(const std::weak_ptr<int> &buffer)
  {
    EXPECT_TRUE(buffer.expired());
    EXPECT_EQ(given_back_while_shown, 0);
    fakedrm::device().fail_call.clear();
  }

  // The event thread tells after it has woken whoever drains.
  static void wait_until_told(const std::atomic<int> &count)
  {
    while (count == 0)
      std::this_thread::yield();
  }

  std::atomic<bool> must_be_off{false};
  std::atomic<int> given_back_while_shown{0};
  Memory other{1024 * 768 * 4};
  std::shared_ptr<Display> display;
};

// The drain before a mode set runs out of time; the frame in flight waits for the flip of that.
TEST_F(StuckFlips, a_mode_set_gives_nothing_back_before_its_own_flip)
{
  const std::weak_ptr<int> on_screen = push(memory, 640, 480);
  ASSERT_TRUE(display->drain(kLong_ns));
  fakedrm::device().send_events = false;
  const std::weak_ptr<int> in_flight = push(other, 640, 480);
  ASSERT_TRUE(display->configure(picture(1024, 768)));
  const std::weak_ptr<int> next = push(memory, 1024, 768);
  EXPECT_EQ(fakedrm::device().commits.size(), 3U); // the third is the mode set
  EXPECT_FALSE(on_screen.expired());
  EXPECT_FALSE(in_flight.expired());
  fakedrm::send_held_events();
  ASSERT_TRUE(display->drain(kLong_ns));
  EXPECT_TRUE(on_screen.expired());
  EXPECT_TRUE(in_flight.expired());
  EXPECT_FALSE(next.expired());
}

// The display is unplugged, its flip does not complete, and the driver does not turn it off.
TEST_F(StuckFlips, an_output_that_cannot_be_turned_off_is_without_its_framebuffers_first)
{
  fakedrm::device().send_events = false;
  const std::weak_ptr<int> in_flight = push(memory, 640, 480);
  refuse_commits();
  fakedrm::device().connected = false;
  fakedrm::hotplug();
  push(other, 640, 480); // is dropped
  expect_given_back(in_flight);
}

TEST_F(StuckFlips, a_stop_takes_what_it_cannot_put_back_off_the_screen_first)
{
  fakedrm::device().send_events = false;
  const std::weak_ptr<int> in_flight = push(memory, 640, 480);
  refuse_commits();
  EXPECT_FALSE(display->stop());
  expect_given_back(in_flight);
}

// The last frame was to stay, and cannot.
TEST_F(StuckFlips, nor_does_a_last_frame_go_back_before_its_framebuffer)
{
  display.reset();
  replug();
  fakedrm::device().closes_framebuffers = false;
  fakedrm::device().opens_again = false;
  auto opened = open();
  ASSERT_TRUE(opened) << opened.error().message;
  display = *opened;
  display->set_restore(false);
  ASSERT_TRUE(display->start() && display->configure(picture(640, 480)));
  fakedrm::device().send_events = false;
  const std::weak_ptr<int> in_flight = push(memory, 640, 480);
  refuse_commits();
  EXPECT_FALSE(display->stop());
  expect_given_back(in_flight);
  fakedrm::device().handles.clear(); // on the application's open file the engine closes none
}

// One that the driver never reports ("flip_done timed out"): the stream goes on with a mode set.
TEST_F(StuckFlips, a_lost_flip_is_followed_by_a_mode_set)
{
  push(memory, 640, 480);
  ASSERT_TRUE(display->drain(kLong_ns));
  fakedrm::device().send_events = false;
  const std::weak_ptr<int> lost = push(other, 640, 480);
  EXPECT_FALSE(display->drain(kLong_ns)); // ends when the flip counts as lost
  wait_until_told(listener.repaints); // the last word about it
  EXPECT_EQ(listener.stalls, 1);
  EXPECT_EQ(listener.failures, 0);
  EXPECT_EQ(listener.repaints, 1); // for a picture that stands still
  EXPECT_FALSE(lost.expired());
  fakedrm::device().send_events = true;
  push(memory, 640, 480);
  EXPECT_TRUE(display->drain(kLong_ns));
  EXPECT_TRUE(lost.expired());
  ASSERT_EQ(fakedrm::device().commits.size(), 3U);
  EXPECT_TRUE(fakedrm::device().commits[2].flags & DRM_MODE_ATOMIC_ALLOW_MODESET);
  push(other, 640, 480);
  EXPECT_TRUE(display->drain(kLong_ns));
  EXPECT_FALSE(fakedrm::device().commits[3].flags & DRM_MODE_ATOMIC_ALLOW_MODESET);
}

TEST_F(StuckFlips, a_display_that_does_not_come_back_ends_the_stream)
{
  fakedrm::device().send_events = false;
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(listener.failures, 0);
    push(memory, 640, 480);
    EXPECT_FALSE(display->drain(kLong_ns));
  }
  EXPECT_EQ(listener.stalls, 1);
  wait_until_told(listener.failures);
  EXPECT_EQ(listener.failures, 1);
  const std::optional<Error> failure = display->failure();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->sys_errno, ETIMEDOUT);
}

// The last frame stays, and its flip is never read: the one before may be on screen.
TEST_F(StuckFlips, a_stop_keeps_what_the_last_frame_was_to_replace)
{
  display->set_restore(false);
  const std::weak_ptr<int> on_screen = push(memory, 640, 480);
  ASSERT_TRUE(display->drain(kLong_ns));
  fakedrm::device().send_events = false;
  const std::weak_ptr<int> in_flight = push(other, 640, 480);
  ASSERT_TRUE(display->stop());
  EXPECT_FALSE(on_screen.expired());
  EXPECT_FALSE(in_flight.expired());
  fakedrm::device().send_events = true;
  ASSERT_TRUE(display->start() && display->configure(picture(640, 480)));
  push(memory, 640, 480);
  EXPECT_TRUE(on_screen.expired());
  EXPECT_TRUE(in_flight.expired());
}

// A DRAIN query: nothing is forced.
TEST_F(StuckFlips, a_drain_that_runs_out_of_time_keeps_the_buffers)
{
  fakedrm::device().send_events = false;
  const std::weak_ptr<int> in_flight = push(memory, 640, 480);
  EXPECT_FALSE(display->drain(1));
  display->forget_imports();
  EXPECT_FALSE(in_flight.expired());
  fakedrm::send_held_events();
  EXPECT_TRUE(display->drain(kLong_ns));
  EXPECT_FALSE(in_flight.expired()); // it is on screen
}

} // namespace
