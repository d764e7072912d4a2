// SPDX-License-Identifier: LGPL-2.1-or-later
// The picture goes and the mode stays; the black buffer under a picture, and when it goes. On the
// fake libdrm.
#include <cerrno>
#include <memory>

#include <drm_fourcc.h>

#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

class Blank : public DisplayTest {
protected:
  void play(std::uint32_t width, std::uint32_t height)
  {
    auto opened = open();
    ASSERT_TRUE(opened) << opened.error().message;
    display = *opened;
    ASSERT_TRUE(display->start());
    show_size(width, height);
  }
  void show_size(std::uint32_t width, std::uint32_t height)
  {
    ASSERT_TRUE(display->configure(picture(width, height)));
    push(width, height);
  }
  void push(std::uint32_t width, std::uint32_t height)
  {
    Result<FramebufferCache::Import> import = display->import(xrgb(memory, width, height));
    ASSERT_TRUE(import);
    Frame frame;
    frame.framebuffer = import->imported;
    frame.owner = std::make_shared<int>(0);
    last = frame.owner;
    ASSERT_TRUE(display->show(frame, FlipQueue::Overflow::Wait));
    ASSERT_TRUE(display->drain(kLong_ns));
  }
  static std::size_t commits() { return fakedrm::device().commits.size(); }
  static std::uint64_t shown(std::uint32_t plane)
  {
    return value(fakedrm::device().commits.back(), plane, "FB_ID");
  }
  static bool last_has_set_mode()
  {
    return (fakedrm::device().commits.back().flags & DRM_MODE_ATOMIC_ALLOW_MODESET) != 0;
  }
  // The next frame comes without a mode set.
  void expect_no_mode_set()
  {
    push(640, 480);
    EXPECT_FALSE(last_has_set_mode());
    EXPECT_NE(shown(fakedrm::kPrimary), 0U);
    (void)display->stop();
    display.reset();
  }

  // Gives the frame back, and leaves the mode.
  void blank_in_one_commit()
  {
    const std::size_t before = commits();
    display->blank();
    EXPECT_TRUE(last.expired());
    EXPECT_EQ(commits(), before + 1);
    EXPECT_FALSE(last_has_set_mode());
  }

  std::weak_ptr<void> last;
  std::shared_ptr<Display> display;
};

TEST_F(Blank, turns_the_plane_off_and_leaves_the_mode)
{
  play(640, 480);
  blank_in_one_commit();
  EXPECT_EQ(shown(fakedrm::kPrimary), 0U);
  EXPECT_FALSE(display->snapshot());
  expect_no_mode_set();
}

// amdgpu and others: no CRTC is on without its primary plane.
TEST_F(Blank, shows_black_where_the_plane_has_to_be_on)
{
  fakedrm::device().needs_primary = true;
  play(640, 480);
  blank_in_one_commit();
  const auto black = static_cast<std::uint32_t>(shown(fakedrm::kPrimary));
  ASSERT_NE(black, 0U);
  EXPECT_EQ(fakedrm::device().sizes.at(black), std::pair(640U, 480U));
  expect_no_mode_set();
}

TEST_F(Blank, turns_the_display_off_where_nothing_else_can_be_had)
{
  play(640, 480);
  fakedrm::device().refuses_without_mode_set = true;
  display->blank();
  EXPECT_TRUE(last.expired());
  EXPECT_TRUE(last_has_set_mode());
  EXPECT_EQ(value(fakedrm::device().commits.back(), fakedrm::kCrtc, "ACTIVE"), 0U);
  fakedrm::device().refuses_without_mode_set = false;
  push(640, 480);
  EXPECT_TRUE(last_has_set_mode());
  (void)display->stop();
  display.reset();
}

// The black buffer under a picture stays until another mode, with another buffer, is on screen.
TEST_F(Blank, a_refused_mode_leaves_the_black_buffer_on_screen)
{
  fakedrm::device().primary_centres = false; // a small picture needs a black plane under it
  fakedrm::device().needs_primary = true;
  play(320, 240);
  const auto black = static_cast<std::uint32_t>(shown(fakedrm::kPrimary));
  ASSERT_NE(black, 0U);
  fakedrm::device().refuses_mode_sets = true;
  ASSERT_TRUE(display->configure(picture(1000, 700)));
  EXPECT_FALSE(show(*display, xrgb(memory, 1000, 700)));
  EXPECT_TRUE(fakedrm::device().framebuffers.count(black));
  fakedrm::device().refuses_mode_sets = false;
  ASSERT_TRUE(show(*display, xrgb(memory, 1000, 700)) && display->drain(kLong_ns));
  EXPECT_FALSE(fakedrm::device().framebuffers.count(black));
  (void)display->stop();
  display.reset();
}

} // namespace
