// SPDX-License-Identifier: LGPL-2.1-or-later
// What a display shows when the sink has stopped: what it showed before, or the last frame. On the
// fake libdrm.
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xf86drmMode.h>

#include "kms_display_fixture.hpp"
#include "support/open_fds.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

class PutBack : public DisplayTest {
protected:
  // Starts, and shows two frames; a token goes with the last one.
  std::weak_ptr<int> play(Display &display)
  {
    EXPECT_TRUE(display.start());
    EXPECT_TRUE(display.configure(picture(640, 480)));
    std::weak_ptr<int> last;
    for (const Memory *of : {&memory, &other}) {
      Result<FramebufferCache::Import> import = display.import(xrgb(*of, 640, 480));
      EXPECT_TRUE(import);
      Frame frame;
      frame.framebuffer = import->imported;
      const auto token = std::make_shared<int>(0);
      frame.owner = token;
      last = token;
      const auto shown = display.show(frame, FlipQueue::Overflow::Wait);
      EXPECT_TRUE(shown) << shown.error().message;
    }
    EXPECT_TRUE(display.drain(kLong_ns));
    return last;
  }
  static std::size_t commits() { return fakedrm::device().commits.size(); }
  static std::uint32_t shown_last()
  {
    return static_cast<std::uint32_t>(value(commit(commits() - 1), fakedrm::kPrimary, "FB_ID"));
  }

  Memory other{1024 * 768 * 4};
};

TEST_F(PutBack, the_last_frame_stays_and_its_buffer_with_it)
{
  auto display = open();
  ASSERT_TRUE(display) << display.error().message;
  (*display)->set_restore(false);
  const std::weak_ptr<int> last = play(**display);
  const std::size_t made = commits();
  const std::uint32_t framebuffer = shown_last();
  ASSERT_TRUE((*display)->stop());
  EXPECT_EQ(commits(), made); // nothing was put in its place
  EXPECT_EQ(fakedrm::device().left, std::vector<std::uint32_t>{framebuffer});
  EXPECT_FALSE(last.expired()); // nobody writes into what is on screen
  ASSERT_TRUE((*display)->stop());
  EXPECT_FALSE(last.expired());
  const std::weak_ptr<int> next = play(**display);
  EXPECT_TRUE(last.expired());
  ASSERT_TRUE((*display)->stop());
  display = Error{};
  EXPECT_TRUE(next.expired());
  EXPECT_EQ(fakedrm::device().left.size(), 2U);
}

TEST_F(PutBack, what_was_there_comes_back_when_that_is_wanted_after_all)
{
  auto display = open();
  ASSERT_TRUE(display);
  (*display)->set_restore(false);
  play(**display);
  ASSERT_TRUE((*display)->stop());
  const std::size_t made = commits();
  (*display)->set_restore(true);
  ASSERT_TRUE((*display)->stop());
  ASSERT_EQ(commits(), made + 1);
  EXPECT_EQ(value(commit(made), fakedrm::kCrtc, "ACTIVE"), 0U); // as it was found
  EXPECT_EQ(value(commit(made), fakedrm::kPrimary, "FB_ID"), 0U);
}

// What is on screen is nobody's to write into, for as long as nothing came in its place.
TEST_F(PutBack, a_frame_that_cannot_be_replaced_keeps_its_buffer)
{
  auto display = open();
  ASSERT_TRUE(display);
  (*display)->set_restore(false);
  const std::weak_ptr<int> last = play(**display);
  ASSERT_TRUE((*display)->stop());
  (*display)->set_restore(true);
  const std::size_t made = commits();
  fakedrm::device().fail_call = "drmModeAtomicCommit";
  EXPECT_FALSE((*display)->stop());
  EXPECT_EQ(commits(), made);
  EXPECT_FALSE(last.expired());
  fakedrm::device().fail_call = "";
  EXPECT_TRUE((*display)->stop()); // tries again
  ASSERT_EQ(commits(), made + 1);
  EXPECT_EQ(value(commit(made), fakedrm::kCrtc, "ACTIVE"), 0U);
  EXPECT_TRUE(last.expired());
}

// Not what the sink itself has left there: the state from before the first start.
TEST_F(PutBack, what_was_there_first_comes_back_after_a_failure)
{
  fakedrm::device().remembers = true;
  fakedrm::device().foreign_framebuffers = {77};
  fakedrm::device().found[{fakedrm::kPrimary, "FB_ID"}] = 77;
  auto display = open();
  ASSERT_TRUE(display);
  const std::weak_ptr<int> last = play(**display);
  fakedrm::device().fail_call = "drmModeAtomicCommit";
  const Result<void> stopped = (*display)->stop();
  ASSERT_FALSE(stopped);
  EXPECT_NE(stopped.error().message.find("could not be put back"), std::string::npos);
  EXPECT_TRUE(last.expired()); // its framebuffer went before it
  fakedrm::device().fail_call = "";
  play(**display);
  ASSERT_TRUE((*display)->stop());
  EXPECT_EQ(shown_last(), 77U);
}

// A frame that was left on screen holds nothing back, and what another sink shows in its place is
// not taken off the screen.
TEST_F(PutBack, another_display_shows_in_place_of_the_last_frame)
{
  auto left = open(), next = open();
  ASSERT_TRUE(left && next) << next.error().message;
  (*left)->set_restore(false);
  play(**left);
  const auto taken = (*next)->take_output();
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().message.find("another sink"), std::string::npos);
  ASSERT_TRUE((*left)->stop());
  play(**next);
  const std::size_t made = commits();
  (*left)->set_restore(true);
  ASSERT_TRUE((*left)->stop());
  EXPECT_EQ(commits(), made);
  ASSERT_TRUE((*next)->stop());
  ASSERT_TRUE((*left)->stop()); // nobody shows there now
  EXPECT_EQ(value(commit(commits() - 1), fakedrm::kCrtc, "ACTIVE"), 0U);
}

TEST_F(PutBack, the_last_frame_stays_when_the_output_is_given_up)
{
  auto display = open();
  ASSERT_TRUE(display) << display.error().message;
  (*display)->set_restore(false);
  play(**display);
  const std::size_t made = commits();
  ASSERT_TRUE((*display)->stop());
  ASSERT_TRUE((*display)->give_up_output());
  display = Error{};
  EXPECT_EQ(commits(), made);
  auto next = open(); // in its place
  ASSERT_TRUE(next) << next.error().message;
  play(**next);
  ASSERT_TRUE((*next)->stop());
}

// Before Linux 6.8 a framebuffer goes with the open file that it was made on: that stays.
TEST_F(PutBack, an_open_file_keeps_the_frame_until_another_is_shown)
{
  fakedrm::device().closes_framebuffers = false;
  unsigned before = 0;
  {
    auto display = open();
    before = count_fds();
    (*display)->set_restore(false);
    play(**display);
    const std::uint32_t framebuffer = shown_last();
    ASSERT_TRUE((*display)->stop());
    EXPECT_EQ(count_fds(), before + 1);
    EXPECT_TRUE(fakedrm::device().framebuffers.count(framebuffer)); // not removed
    fakedrm::device().framebuffers.erase(framebuffer);              // it is the open file's
    EXPECT_TRUE((*display)->start() && (*display)->configure(picture(640, 480)));
    EXPECT_TRUE(show(**display, xrgb(memory, 640, 480)));
    EXPECT_EQ(count_fds(), before + 1); // the events', and not that one
    (*display)->set_restore(true);
    ASSERT_TRUE((*display)->stop());
    EXPECT_EQ(count_fds(), before);
  }
}

TEST_F(PutBack, says_where_no_frame_can_stay)
{
  fakedrm::device().closes_framebuffers = false;
  fakedrm::device().opens_again = false;
  auto display = open();
  (*display)->set_restore(false);
  play(**display);
  const std::size_t made = commits();
  const Result<void> stopped = (*display)->stop();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().sys_errno, ENOTSUP);
  EXPECT_NE(stopped.error().message.find("Virtual-1"), std::string::npos);
  EXPECT_NE(stopped.error().message.find("6.8"), std::string::npos);
  EXPECT_EQ(commits(), made + 1);    // it was put back
  fakedrm::device().handles.clear(); // on the application's file, where they are not closed
}

TEST_F(PutBack, nothing_stays_where_nothing_was_shown)
{
  auto display = open();
  (*display)->set_restore(false);
  ASSERT_TRUE((*display)->start());
  ASSERT_TRUE((*display)->stop());
  EXPECT_EQ(commits(), 0U);
  EXPECT_TRUE(fakedrm::device().left.empty());
}

// The cursor is no part of the frame.
TEST_F(PutBack, the_cursor_goes)
{
  fakedrm::device().found[{fakedrm::kOverlay, "type"}] = DRM_PLANE_TYPE_CURSOR;
  auto display = open();
  ASSERT_TRUE(
      (*display)->set_cursor(CursorImage{64, 64, std::vector<std::uint8_t>(64 * 64 * 4, 0x80)}));
  (*display)->set_restore(false);
  play(**display);
  ASSERT_TRUE((*display)->stop());
  EXPECT_EQ(value(commit(commits() - 1), fakedrm::kOverlay, "FB_ID"), 0U);
  EXPECT_EQ(commit(commits() - 1).values.size(), 2U);
}

} // namespace
