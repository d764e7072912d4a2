// SPDX-License-Identifier: LGPL-2.1-or-later
// Overlays over frames on the fake libdrm: what the commits say, how often, and what a refusal
// does.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;
using fakedrm::kOverlay;
using fakedrm::kPrimary;

// Pictures of 1024x768 on the primary plane, and an overlay plane with alpha.
class Overlays : public DisplayTest {
protected:
  Overlays()
  {
    fakedrm::device().overlay_extra = DRM_FORMAT_ARGB8888;
    DeviceRequest request;
    request.fd = drm_fd.get();
    auto opened = Display::open(request, {}, heard);
    EXPECT_TRUE(opened) << opened.error().message;
    display = *opened;
  }
  ~Overlays() override { let_go(); }
  void let_go()
  {
    (void)display->stop(); // the event thread calls `heard` no more
    display.reset();
    EXPECT_EQ(left_over(), 0);
  }
  void begin() { ASSERT_TRUE(display->start() && display->configure(picture(1024, 768))); }

  // Of one colour.
  static std::shared_ptr<const Overlay> box(const Rectangle &place,
                                            std::uint32_t colour = 0xff112233)
  {
    auto pixels = std::make_shared<std::vector<std::uint32_t>>(place.width * place.height, colour);
    OverlayImage image;
    image.pixels = reinterpret_cast<const std::uint8_t *>(pixels->data());
    image.stride_bytes = place.width * 4;
    image.width = place.width;
    image.height = place.height;
    image.place = place;
    image.owner = pixels;
    auto overlay = std::make_shared<Overlay>();
    overlay->images = {image};
    return overlay;
  }

  // A frame, and the commit that it made.
  fakedrm::Commit push(std::shared_ptr<const Overlay> overlay, const Origin &origin = {})
  {
    auto import = display->import(xrgb(memory, 1024, 768));
    EXPECT_TRUE(import);
    Frame frame;
    frame.framebuffer = import->imported;
    frame.origin = origin;
    frame.overlay = std::move(overlay);
    const auto shown = display->show(frame, FlipQueue::Overflow::Wait);
    EXPECT_TRUE(shown && *shown == Shown::Yes);
    EXPECT_TRUE(display->drain(kLong_ns));
    return fakedrm::device().commits.back();
  }
  static bool names_overlay(const fakedrm::Commit &c)
  {
    return value(c, kOverlay, "FB_ID") != ~std::uint64_t{0};
  }
  static std::uint32_t framebuffer(const fakedrm::Commit &c)
  {
    return static_cast<std::uint32_t>(value(c, kOverlay, "FB_ID"));
  }
  static std::size_t commits() { return fakedrm::device().commits.size(); }

  Listener heard;
  std::shared_ptr<Display> display;
};

TEST_F(Overlays, go_with_the_commit_of_the_first_frame)
{
  begin();
  const auto c = push(box({100, 50, 30, 20}));
  EXPECT_EQ(commits(), 1U);
  EXPECT_EQ(value(c, kOverlay, "CRTC_ID"), fakedrm::kCrtc);
  EXPECT_EQ(value(c, kOverlay, "CRTC_X"), 100U);
  EXPECT_EQ(value(c, kOverlay, "CRTC_Y"), 50U);
  EXPECT_EQ(value(c, kOverlay, "CRTC_W"), 30U);
  EXPECT_EQ(value(c, kOverlay, "SRC_H"), std::uint64_t{20} << 16);
  EXPECT_EQ(value(c, kOverlay, "pixel blend mode"), 0U); // Pre-multiplied
  EXPECT_EQ(value(c, kOverlay, "alpha"), 0xffffU);
  EXPECT_EQ(fakedrm::device().fourccs.at(framebuffer(c)), std::uint32_t{DRM_FORMAT_ARGB8888});
  EXPECT_EQ(fakedrm::pixels_of(framebuffer(c)).front(), 0xff112233U);
  EXPECT_EQ(display->overlay_counters().shown, 1U);
}

// The picture is a part of its framebuffer: an overlay lies in the picture, with the mode set as with
// a flip.
TEST_F(Overlays, lie_in_the_picture_wherever_that_begins)
{
  ASSERT_TRUE(display->start() && display->configure(picture(640, 480)));
  const auto first = push(box({100, 50, 30, 20}), {32, 16});
  EXPECT_EQ(value(first, kPrimary, "SRC_X"), std::uint64_t{32} << 16);
  EXPECT_EQ(value(first, kOverlay, "CRTC_X"), 100U);
  EXPECT_EQ(value(first, kOverlay, "CRTC_Y"), 50U);
  EXPECT_EQ(framebuffer(push(box({640, 0, 30, 20}), {32, 16})), 0U); // beside it
  const auto flipped = push(box({102, 50, 30, 20}), {60, 40});
  EXPECT_EQ(value(flipped, kPrimary, "SRC_X"), std::uint64_t{60} << 16);
  EXPECT_EQ(value(flipped, kOverlay, "CRTC_X"), 102U);
}

TEST_F(Overlays, are_named_once_while_they_stay)
{
  begin();
  const auto overlay = box({100, 50, 30, 20});
  push(nullptr);
  EXPECT_TRUE(names_overlay(push(overlay)));
  for (int i = 0; i < 3; i++) {
    const auto c = push(overlay);
    EXPECT_FALSE(names_overlay(c));
    EXPECT_EQ(c.values.size(), 1U); // the frame
  }
  const auto moved = push(box({102, 50, 30, 20}));
  EXPECT_EQ(value(moved, kOverlay, "CRTC_X"), 102U);
  const auto off = push(nullptr);
  EXPECT_EQ(value(off, kOverlay, "FB_ID"), 0U);
  EXPECT_EQ(value(off, kOverlay, "CRTC_ID"), 0U);
  EXPECT_FALSE(names_overlay(push(nullptr)));
  EXPECT_EQ(commits(), 8U); // one per frame
}

// A frame that is outside is off, and no buffer is drawn.
TEST_F(Overlays, outside_the_picture_are_off)
{
  begin();
  push(nullptr);
  EXPECT_FALSE(names_overlay(push(box({1024, 0, 30, 20}))));
  EXPECT_EQ(display->overlay_counters().shown, 0U);
  EXPECT_EQ(display->overlay_counters().left_out, 0U);
}

// Small ones are widened by transparent pixels, and never out of the screen.
TEST_F(Overlays, have_a_least_size)
{
  begin();
  push(nullptr);
  const auto c = push(box({1023, 767, 1, 1}));
  EXPECT_EQ(value(c, kOverlay, "CRTC_X"), 1008U);
  EXPECT_EQ(value(c, kOverlay, "CRTC_W"), 16U);
  EXPECT_EQ(value(c, kOverlay, "CRTC_Y"), 752U);
  const auto pixels = fakedrm::pixels_of(framebuffer(c));
  EXPECT_EQ(std::count(pixels.begin(), pixels.end(), 0U),
            static_cast<std::ptrdiff_t>(pixels.size()) - 1);
}

// However often it changes: a few buffers, none that is on screen, and nothing left of what was
// drawn before.
TEST_F(Overlays, change_with_a_few_buffers)
{
  begin();
  push(nullptr);
  std::set<std::uint32_t> used;
  std::uint32_t on_screen = 0;
  for (int i = 0; i < 50; i++) {
    const auto c = push(box({10 + 3 * i, 20, 30, 20}, 0xff000000U + static_cast<std::uint32_t>(i)));
    EXPECT_NE(framebuffer(c), on_screen);
    on_screen = framebuffer(c);
    used.insert(on_screen);
    const auto pixels = fakedrm::pixels_of(on_screen);
    EXPECT_EQ(std::count_if(pixels.begin(), pixels.end(), [](auto pixel) { return pixel != 0; }),
              600)
        << i;
  }
  EXPECT_LE(used.size(), OverlayRasters::kMostBuffers);
}

// The frame is shown without, once; then the display says that it takes none.
TEST_F(Overlays, refused_by_a_flip_are_left_out)
{
  begin();
  const auto overlay = box({100, 50, 30, 20});
  push(overlay);
  EXPECT_TRUE(display->can_overlay());
  const int changes = heard.changes;
  fakedrm::device().refused_fourcc = DRM_FORMAT_ARGB8888;
  const auto c = push(box({10, 50, 30, 20}));
  EXPECT_EQ(value(c, kOverlay, "FB_ID"), 0U);
  EXPECT_FALSE(display->can_overlay());
  EXPECT_FALSE(names_overlay(push(overlay)));
  EXPECT_EQ(heard.overlay_refusals, 1);
  EXPECT_EQ(heard.changes, changes + 1);
  EXPECT_EQ(heard.failures, 0);
  const auto counters = display->overlay_counters();
  EXPECT_EQ(counters.refusals, 1U);
  EXPECT_EQ(counters.left_out, 1U);
  EXPECT_EQ(commits(), 3U);
  // another start tries again
  ASSERT_TRUE(display->stop());
  fakedrm::device().refused_fourcc = 0;
  begin();
  EXPECT_TRUE(names_overlay(push(overlay)));
}

TEST_F(Overlays, refused_with_the_first_frame_are_left_out)
{
  fakedrm::device().refused_fourcc = DRM_FORMAT_ARGB8888;
  begin();
  EXPECT_TRUE(display->can_overlay()); // as far as is known
  EXPECT_FALSE(value(push(box({100, 50, 30, 20})), kOverlay, "FB_ID") > 0);
  EXPECT_FALSE(display->can_overlay());
  EXPECT_EQ(heard.overlay_refusals, 1);
  EXPECT_EQ(display->overlay_counters().left_out, 1U);
}

// Found out by a test commit, before any frame is lost.
TEST_F(Overlays, refused_when_they_appear_are_left_out)
{
  begin();
  push(nullptr);
  fakedrm::device().refused_fourcc = DRM_FORMAT_ARGB8888;
  EXPECT_FALSE(names_overlay(push(box({100, 50, 30, 20}))));
  EXPECT_EQ(heard.overlay_refusals, 1);
  EXPECT_EQ(commits(), 2U);
}

// EBUSY says nothing of the overlay.
TEST_F(Overlays, wait_with_their_frame_while_the_device_is_busy)
{
  begin();
  push(nullptr);
  fakedrm::device().busy_commits = 2;
  EXPECT_TRUE(names_overlay(push(box({100, 50, 30, 20}))));
  EXPECT_EQ(heard.overlay_refusals, 0);
}

// A frame that is refused for itself does not take the overlay with it.
TEST_F(Overlays, are_not_blamed_for_the_frame)
{
  begin();
  const auto overlay = box({100, 50, 30, 20});
  push(overlay);
  fakedrm::device().refused_fourcc = DRM_FORMAT_XRGB8888;
  auto import = display->import(xrgb(memory, 1024, 768));
  Frame frame;
  frame.framebuffer = import->imported;
  frame.overlay = overlay;
  (void)display->show(frame, FlipQueue::Overflow::Wait);
  fakedrm::device().refused_fourcc = 0;
  EXPECT_TRUE(display->can_overlay());
  EXPECT_EQ(heard.overlay_refusals, 0);
}

TEST_F(Overlays, need_a_plane_that_nobody_else_has)
{
  let_go();
  replug();
  fakedrm::device().overlay_extra = DRM_FORMAT_ARGB8888;
  fakedrm::device().plane_users[kOverlay] = 77;
  DeviceRequest request;
  request.fd = drm_fd.get();
  display = *Display::open(request, {}, heard);
  begin();
  EXPECT_FALSE(display->can_overlay());
  EXPECT_FALSE(names_overlay(push(box({100, 50, 30, 20}))));
  EXPECT_EQ(display->overlay_counters().left_out, 1U);
  let_go();
  replug();
  fakedrm::device().overlay_extra = DRM_FORMAT_ARGB8888;
  request.fd = drm_fd.get();
  OutputRequest named;
  named.plane_id = kPrimary;
  display = *Display::open(request, named, heard);
  EXPECT_FALSE(display->can_overlay());
}

// A turned picture has none, which upstream hears.
TEST_F(Overlays, end_where_the_picture_is_turned)
{
  begin();
  const auto overlay = box({100, 50, 30, 20});
  push(overlay);
  const int changes = heard.changes;
  View view;
  view.rotation = DRM_MODE_ROTATE_180;
  display->set_view(view);
  EXPECT_FALSE(display->can_overlay());
  EXPECT_EQ(value(push(overlay), kOverlay, "FB_ID"), 0U);
  EXPECT_EQ(heard.changes, changes + 1);
  display->set_view({});
  EXPECT_TRUE(names_overlay(push(overlay)));
  EXPECT_EQ(heard.changes, changes + 2);
}

TEST_F(Overlays, leave_the_plane_as_they_found_it)
{
  begin();
  push(box({100, 50, 30, 20}));
  ASSERT_TRUE(display->stop());
  const fakedrm::Commit &c = fakedrm::device().commits.back();
  EXPECT_EQ(value(c, kOverlay, "FB_ID"), 0U);
  EXPECT_EQ(value(c, kOverlay, "CRTC_ID"), 0U);
  EXPECT_EQ(value(c, kOverlay, "pixel blend mode"), 1U);
  EXPECT_EQ(value(c, kOverlay, "alpha"), 0x8000U);
}

// Frames with overlays, a cursor, snapshots and questions, from threads of their own.
TEST_F(Overlays, are_for_every_thread)
{
  begin();
  push(nullptr);
  std::atomic<bool> done{false};
  std::vector<std::thread> others;
  others.emplace_back([&] {
    while (!done)
      (void)display->can_overlay(), (void)display->overlay_counters(), (void)display->counters();
  });
  others.emplace_back([&] {
    for (std::int32_t x = 0; !done; x++)
      display->move_cursor(x, x);
  });
  others.emplace_back([&] {
    View turned;
    turned.rotation = DRM_MODE_ROTATE_180;
    while (!done)
      display->set_view(turned), display->set_view({});
  });
  for (int i = 0; i < 300; i++) {
    auto import = display->import(xrgb(memory, 1024, 768));
    Frame frame;
    frame.framebuffer = import->imported;
    if (i % 5 != 0)
      frame.overlay = box({i, i, 30, 20});
    (void)display->show(frame, i % 2 ? FlipQueue::Overflow::Wait : FlipQueue::Overflow::Replace);
  }
  done = true;
  for (std::thread &thread : others)
    thread.join();
  EXPECT_EQ(heard.failures, 0);
}

// With restore=false: what the screen shows is the picture and what lies over it.
TEST_F(Overlays, stay_with_a_last_frame_that_stays)
{
  display->set_restore(false);
  begin();
  const auto c = push(box({100, 50, 30, 20}));
  const auto picture = static_cast<std::uint32_t>(value(c, fakedrm::kPrimary, "FB_ID"));
  ASSERT_TRUE(display->stop());
  EXPECT_EQ(fakedrm::device().left, (std::vector<std::uint32_t>{picture, framebuffer(c)}));
  EXPECT_EQ(commits(), 1U);
}

} // namespace
