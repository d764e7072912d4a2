// SPDX-License-Identifier: LGPL-2.1-or-later
// What show() says of a frame that does not go to the screen, and that the stream goes on after it.
#include <cerrno>

#include <fcntl.h>

#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

using Shown = Shown;

TEST_F(DisplayTest, a_frame_is_dropped_while_nothing_is_connected)
{
  auto display = open();
  ASSERT_TRUE(display);
  fakedrm::device().connected = false;
  ASSERT_TRUE((*display)->start() && (*display)->configure(picture(640, 480)));
  auto shown = show(**display, xrgb(memory, 640, 480));
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(*shown, Shown::Dropped);
  EXPECT_TRUE(fakedrm::device().commits.empty());
  EXPECT_EQ((*display)->counters().dropped, 1U);
  ASSERT_TRUE((*display)->stop());
  fakedrm::device().connected = true;
  ASSERT_TRUE((*display)->start() && (*display)->configure(picture(640, 480)));
  shown = show(**display, xrgb(memory, 640, 480));
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(*shown, Shown::Yes);
  EXPECT_EQ(listener.failures, 0);
  EXPECT_GT((*display)->counters().commits, 0U);
  ASSERT_TRUE((*display)->stop() && (*display)->start());
  EXPECT_EQ((*display)->counters().commits, 0U); // since the start
}

TEST_F(DisplayTest, a_frame_is_dropped_while_another_program_is_master)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  fakedrm::device().fail_call = "drmModeAtomicCommit";
  fakedrm::device().error = EACCES;
  for (int i = 0; i < 2; i++) {
    const auto shown = show(**display, xrgb(memory, 640, 480));
    ASSERT_TRUE(shown) << shown.error().message;
    EXPECT_EQ(*shown, Shown::Dropped);
  }
  EXPECT_EQ(listener.master_changes, 1);
  EXPECT_EQ((*display)->counters().dropped, 2U);
  fakedrm::device().fail_call.clear();
  const auto shown = show(**display, xrgb(memory, 640, 480));
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(*shown, Shown::Yes);
  EXPECT_EQ(listener.master_changes, 2);
}

// Whoever watches the bus of the second run has not seen the message of the first.
TEST_F(DisplayTest, each_run_tells_that_another_program_is_master)
{
  auto display = open();
  ASSERT_TRUE(display);
  fakedrm::device().fail_call = "drmModeAtomicCommit";
  fakedrm::device().error = EACCES;
  for (int run = 1; run <= 2; run++) {
    ASSERT_TRUE((*display)->start() && (*display)->configure(picture(640, 480)));
    const auto shown = show(**display, xrgb(memory, 640, 480));
    ASSERT_TRUE(shown) << shown.error().message;
    EXPECT_EQ(*shown, Shown::Dropped);
    EXPECT_EQ(listener.master_changes, run);
    (void)(*display)->stop(); // cannot put anything back
  }
  fakedrm::device().fail_call.clear();
}

TEST_F(DisplayTest, a_first_frame_whose_fence_is_lost_is_dropped)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  auto import = (*display)->import(xrgb(memory, 640, 480));
  ASSERT_TRUE(import);
  Frame frame;
  frame.framebuffer = import->imported;
  // what is no fence never signals
  frame.acquire_fence = std::make_shared<UniqueFd>(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto shown = (*display)->show(frame, FlipQueue::Overflow::Wait);
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(*shown, Shown::Dropped);
  EXPECT_EQ((*display)->counters().fence_errors, 1U);
  EXPECT_TRUE(fakedrm::device().commits.empty());
}

} // namespace
