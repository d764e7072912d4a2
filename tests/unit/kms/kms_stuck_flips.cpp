// SPDX-License-Identifier: LGPL-2.1-or-later
// A flip that does not complete for longer than anybody waits: no buffer goes back while the
// display may read it. On the fake libdrm.
#include <atomic>
#include <cerrno>
#include <memory>

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
