// SPDX-License-Identifier: LGPL-2.1-or-later
// The engine against a fake libdrm: what it asks of the kernel.
#include <cerrno>
#include <vector>

#include "gst/kms/engine/card/kms_dumb.hpp"
#include "edids.hpp"
#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

TEST_F(DisplayTest, first_frame_sets_the_mode_that_fits_and_centres)
{
  auto display = open();
  ASSERT_TRUE(display) << display.error().message;
  ASSERT_TRUE((*display)->start());
  ASSERT_TRUE((*display)->configure(picture(1000, 700)));
  EXPECT_TRUE(fakedrm::device().commits.empty()); // not before there is a frame
  ASSERT_TRUE(show(**display, xrgb(memory, 1000, 700)));
  ASSERT_TRUE((*display)->drain(kLong_ns));
  const fakedrm::Commit &c = commit(0);
  EXPECT_EQ(c.flags, unsigned{DRM_MODE_ATOMIC_ALLOW_MODESET} | DRM_MODE_PAGE_FLIP_EVENT);
  EXPECT_EQ(value(c, fakedrm::kCrtc, "ACTIVE"), 1U);
  EXPECT_EQ(value(c, fakedrm::kConnector, "CRTC_ID"), fakedrm::kCrtc);
  EXPECT_EQ(value(c, fakedrm::kPrimary, "CRTC_X"), 12U); // (1024 - 1000) / 2
  EXPECT_EQ(value(c, fakedrm::kPrimary, "CRTC_Y"), 34U);
  EXPECT_EQ(value(c, fakedrm::kPrimary, "SRC_W"), std::uint64_t{1000} << 16);
  EXPECT_EQ(value(c, fakedrm::kOverlay, "FB_ID"), 0U); // off
  EXPECT_EQ(value(c, fakedrm::kWriteback, "CRTC_ID"), 0U);
}

TEST_F(DisplayTest, the_offer_narrows_to_the_chosen_plane)
{
  constexpr Format kExtra{DRM_FORMAT_YUYV, kModLinear};
  fakedrm::device().overlay_extra = kExtra.fourcc;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start());
  EXPECT_TRUE((*display)->formats().contains(kExtra)); // the overlay's
  ASSERT_TRUE((*display)->configure(picture(1024, 768)));
  EXPECT_EQ(listener.changes, 0);
  ASSERT_TRUE(show(**display, xrgb(memory, 1024, 768)));
  EXPECT_EQ(listener.changes, 1);
  EXPECT_FALSE((*display)->formats().contains(kExtra)); // the primary plane was taken
  EXPECT_TRUE((*display)->formats().contains({DRM_FORMAT_NV12, kModLinear}));
  // the same plane again changes nothing
  ASSERT_TRUE((*display)->configure(picture(640, 480)));
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  EXPECT_EQ(listener.changes, 1);
  ASSERT_TRUE((*display)->stop());
  EXPECT_TRUE((*display)->formats().contains(kExtra));
}

TEST_F(DisplayTest, equal_planes_leave_the_offer_alone)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(1024, 768)));
  ASSERT_TRUE(show(**display, xrgb(memory, 1024, 768)));
  EXPECT_EQ(listener.changes, 0);
}

TEST_F(DisplayTest, a_refused_pair_leaves_the_offer)
{
  constexpr Format kXrgb{DRM_FORMAT_XRGB8888, kModLinear}, kNv12{DRM_FORMAT_NV12, kModLinear};
  fakedrm::device().primary_centres = false;
  fakedrm::device().refused_fourcc = DRM_FORMAT_XRGB8888;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  auto shown = show(**display, xrgb(memory, 640, 480));
  ASSERT_FALSE(shown);
  EXPECT_EQ(shown.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(listener.changes, 0);
  (*display)->refuse(shown.error());
  EXPECT_EQ(listener.changes, 1);
  EXPECT_EQ((*display)->formats(), FormatSet::from_pairs({kNv12}));
  EXPECT_TRUE((*display)->refusal(picture(640, 480)));
  EXPECT_FALSE((*display)->refusal(picture(1024, 768)));
  // the stream carries on with another, of the same size and then of another one
  Picture other = picture(640, 480);
  other.format = kNv12;
  ASSERT_TRUE((*display)->configure(other) && show(**display, nv12(memory, memory, 640, 480)));
  EXPECT_EQ((*display)->formats(), FormatSet::from_pairs({kNv12}));
  fakedrm::device().refused_fourcc = 0;
  other.width = 1024;
  other.height = 768;
  ASSERT_TRUE((*display)->drain(kLong_ns) && (*display)->configure(other));
  ASSERT_TRUE(show(**display, nv12(memory, memory, 1024, 768)));
  EXPECT_TRUE((*display)->formats().contains(kXrgb)); // refused at another size only
  EXPECT_EQ(listener.changes, 2);
  EXPECT_EQ(listener.failures, 0);
}

// What a refused mode refuses says nothing of the pairs: another mode shows them.
TEST_F(DisplayTest, a_refused_mode_leaves_the_offer_as_it_is)
{
  constexpr Format kNv12{DRM_FORMAT_NV12, kModLinear};
  fakedrm::device().refused_mode_width = 640; // the first to try
  fakedrm::device().refused_fourcc = DRM_FORMAT_XRGB8888;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  const auto shown = show(**display, xrgb(memory, 640, 480));
  ASSERT_FALSE(shown);
  (*display)->refuse(shown.error());
  EXPECT_EQ((*display)->formats(), FormatSet::from_pairs({kNv12}));
  Picture other = picture(640, 480);
  other.format = kNv12;
  ASSERT_TRUE((*display)->configure(other) && show(**display, nv12(memory, memory, 640, 480)));
  EXPECT_EQ((*display)->formats(), FormatSet::from_pairs({kNv12}));
}

TEST_F(DisplayTest, pairs_that_a_test_commit_refuses_are_taken_out_before_they_come)
{
  fakedrm::device().refused_fourcc = DRM_FORMAT_NV12;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  EXPECT_EQ((*display)->formats().size(), 2U);
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  EXPECT_EQ((*display)->formats().size(), 1U);
  EXPECT_EQ(listener.changes, 1);
  EXPECT_EQ(fakedrm::device().framebuffers.size(), 1U); // the scratch ones are gone
}

TEST(ScratchLayout, fits_what_hardware_asks_for)
{
  std::uint64_t size = 0;
  const auto nv12 = scratch_layout({DRM_FORMAT_NV12, I915_FORMAT_MOD_X_TILED}, 1000, 500, size);
  ASSERT_TRUE(nv12);
  EXPECT_EQ(nv12->height, 500U);
  EXPECT_EQ(nv12->planes[0].stride_bytes, 1024U);
  EXPECT_EQ(nv12->planes[1].offset_bytes % 65536, 0U);
  EXPECT_GE(nv12->planes[1].offset_bytes, 1024U * 504);
  EXPECT_GE(size, nv12->planes[1].offset_bytes + 1024U * 256);
  EXPECT_FALSE(scratch_layout({DRM_FORMAT_XRGB8888, I915_FORMAT_MOD_Y_TILED_CCS}, 640, 480, size));
}

TEST_F(DisplayTest, a_plane_that_scales_contains_the_picture)
{
  fakedrm::device().scales = true;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(1000, 700)));
  ASSERT_TRUE(show(**display, xrgb(memory, 1000, 700)) && (*display)->drain(kLong_ns));
  EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "CRTC_W"), 1024U);
  EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "CRTC_H"), 717U); // 1024 * 700 / 1000
  EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "CRTC_Y"), 25U);
  EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "SRC_W"), std::uint64_t{1000} << 16);
  // another view comes with the next frame, without a mode set
  View view;
  view.fit = Fit::Cover;
  (*display)->set_view(view);
  ASSERT_TRUE(show(**display, xrgb(memory, 1000, 700)) && (*display)->drain(kLong_ns));
  const fakedrm::Commit &c = commit(1);
  EXPECT_EQ(c.flags, unsigned{DRM_MODE_ATOMIC_NONBLOCK} | DRM_MODE_PAGE_FLIP_EVENT);
  EXPECT_EQ(value(c, fakedrm::kPrimary, "CRTC_H"), 768U);
  EXPECT_EQ(value(c, fakedrm::kPrimary, "SRC_X"), std::uint64_t{34} << 16); // (1000 - 932) / 2
  EXPECT_EQ(value(c, fakedrm::kPrimary, "SRC_W"), std::uint64_t{932} << 16); // 700 * 4 / 3, even
  EXPECT_EQ(value(c, fakedrm::kPrimary, "SRC_H"), std::uint64_t{700} << 16);
  EXPECT_TRUE(listener.where.find("scaled") != std::string::npos) << listener.where;
  EXPECT_EQ(listener.view_refusals, 0);
}

TEST_F(DisplayTest, a_plane_that_does_not_scale_says_why)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(1000, 700)));
  ASSERT_TRUE(show(**display, xrgb(memory, 1000, 700)) && (*display)->drain(kLong_ns));
  EXPECT_NE(listener.where.find("1000x700 at 12,34, not scaled: ERANGE"), std::string::npos) << listener.where;
}

TEST_F(DisplayTest, a_view_that_is_refused_leaves_the_picture)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(1024, 768)));
  ASSERT_TRUE(show(**display, xrgb(memory, 1024, 768)) && (*display)->drain(kLong_ns));
  View view;
  view.zpos = 2; // the fake's planes have none
  (*display)->set_view(view);
  auto shown = show(**display, xrgb(memory, 1024, 768));
  ASSERT_TRUE(shown && *shown == Shown::Yes && (*display)->drain(kLong_ns));
  EXPECT_EQ(listener.view_refusals, 1);
  EXPECT_EQ(listener.changes, 0); // the pair is as good as before
  ASSERT_TRUE(show(**display, xrgb(memory, 1024, 768)) && (*display)->drain(kLong_ns));
  EXPECT_EQ(listener.view_refusals, 1);
  // with a frame whose rows lie otherwise, which is tested as well
  const Memory larger(4352 * 768);
  FrameLayout padded = xrgb(larger, 1024, 768);
  padded.planes[0].stride_bytes = 4352;
  view.zpos = 3;
  (*display)->set_view(view);
  shown = show(**display, padded);
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(*shown, Shown::Yes);
  EXPECT_EQ(listener.view_refusals, 2);
  EXPECT_EQ(listener.changes, 0);
}

TEST_F(DisplayTest, hdr_is_told_and_taken_back)
{
  for (const bool needs_mode_set : {false, true}) {
    replug();
    fakedrm::device().hdr_needs_mode_set = needs_mode_set;
    fakedrm::device().foreign_blobs[700] = edids::television();
    fakedrm::device().found[{fakedrm::kConnector, "EDID"}] = 700;
    auto display = open();
    Picture sdr = picture(1024, 768), hdr = sdr;
    hdr.hdr = HdrMetadata{TransferFunction::Pq, {}, {}, 10'000'000, 50, 1000, 400};
    ASSERT_TRUE(display && (*display)->start());
    for (const Picture &p : {sdr, hdr, hdr, sdr}) {
      ASSERT_TRUE((*display)->configure(p) && show(**display, xrgb(memory, 1024, 768)) &&
                  (*display)->drain(kLong_ns));
    }
    EXPECT_EQ(value(commit(0), fakedrm::kConnector, "HDR_OUTPUT_METADATA"), 0U);
    const auto blob = static_cast<std::uint32_t>(value(commit(1), fakedrm::kConnector, "HDR_OUTPUT_METADATA"));
    ASSERT_TRUE(fakedrm::device().blobs.count(blob));
    EXPECT_EQ(fakedrm::device().blobs.at(blob).at(4), 2); // PQ
    EXPECT_EQ(value(commit(1), fakedrm::kConnector, "Colorspace"), fakedrm::kBt2020Rgb);
    EXPECT_EQ((commit(1).flags & DRM_MODE_ATOMIC_ALLOW_MODESET) != 0, needs_mode_set);
    EXPECT_FALSE(commit(2).values.count({fakedrm::kConnector, "HDR_OUTPUT_METADATA"})); // as before
    EXPECT_EQ(value(commit(3), fakedrm::kConnector, "HDR_OUTPUT_METADATA"), 0U);
    EXPECT_EQ(value(commit(3), fakedrm::kConnector, "Colorspace"), 0U);
    ASSERT_TRUE((*display)->stop());
    EXPECT_EQ(value(commit(4), fakedrm::kConnector, "HDR_OUTPUT_METADATA"), 0U);
  }
}

TEST_F(DisplayTest, hdr_is_told_to_no_display_that_has_none)
{
  auto display = open(); // without an EDID
  Picture hdr = picture(1024, 768);
  hdr.hdr = HdrMetadata{};
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(hdr));
  ASSERT_TRUE(show(**display, xrgb(memory, 1024, 768)));
  EXPECT_EQ(value(commit(0), fakedrm::kConnector, "HDR_OUTPUT_METADATA"), 0U);
  EXPECT_EQ(value(commit(0), fakedrm::kConnector, "Colorspace"), 0U);
  EXPECT_NE(listener.where.find("without its HDR metadata"), std::string::npos) << listener.where;
}

// Another program has left the cursor's plane under the picture, and opaque.
TEST_F(DisplayTest, the_cursor_lies_over_the_picture_and_blends)
{
  fakedrm::Device &d = fakedrm::device();
  d.found[{fakedrm::kOverlay, "type"}] = DRM_PLANE_TYPE_CURSOR;
  d.found[{fakedrm::kOverlay, "pixel blend mode"}] = 2; // None
  d.has_zpos = true;
  d.found[{fakedrm::kPrimary, "zpos"}] = 5;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  ASSERT_TRUE((*display)->set_cursor(CursorImage{64, 64, std::vector<std::uint8_t>(64 * 64 * 4, 0x80)}));
  for (int i = 0; i < 2; i++)
    ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)) && (*display)->drain(kLong_ns));
  // in the commit of either frame, or in one of its own between them
  EXPECT_EQ(last_value(fakedrm::kOverlay, "zpos"), 6U);
  EXPECT_EQ(last_value(fakedrm::kOverlay, "pixel blend mode"), 0U); // Pre-multiplied
  EXPECT_EQ(last_value(fakedrm::kOverlay, "alpha"), 0xffffU);
}

TEST_F(DisplayTest, a_zpos_that_no_plane_has_is_refused_at_once)
{
  auto display = open();
  ASSERT_TRUE(display);
  View view;
  EXPECT_TRUE((*display)->check_view(view));
  view.zpos = 3;
  const auto checked = (*display)->check_view(view);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("Plane 30 has no zpos. Plane 31 has no zpos."), std::string::npos)
      << checked.error().message;
  EXPECT_TRUE(fakedrm::device().commits.empty());
}

TEST_F(DisplayTest, a_flip_is_one_property)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  for (int i = 0; i < 3; i++)
    ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  ASSERT_TRUE((*display)->drain(kLong_ns));
  ASSERT_EQ(fakedrm::device().commits.size(), 3U);
  EXPECT_EQ(commit(2).values.size(), 1U);
  EXPECT_EQ(commit(2).flags, unsigned{DRM_MODE_ATOMIC_NONBLOCK} | DRM_MODE_PAGE_FLIP_EVENT);
  EXPECT_EQ((*display)->counters().shown, 3U);
}

TEST_F(DisplayTest, a_flip_goes_to_the_plane_of_the_last_mode_set)
{
  constexpr Format kExtra{DRM_FORMAT_YUYV, kModLinear};
  fakedrm::device().overlay_extra = kExtra.fourcc;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(1024, 768)));
  ASSERT_TRUE(show(**display, xrgb(memory, 1024, 768)) && (*display)->drain(kLong_ns));
  Picture other = picture(1024, 768);
  other.format = kExtra; // for the overlay plane alone
  FrameLayout layout = xrgb(memory, 1024, 768);
  layout.format = kExtra;
  layout.planes[0].stride_bytes = 2048;
  ASSERT_TRUE((*display)->configure(other));
  for (int i = 0; i < 2; i++)
    ASSERT_TRUE(show(**display, layout) && (*display)->drain(kLong_ns));
  const fakedrm::Commit &flip = fakedrm::device().commits.back();
  EXPECT_EQ(flip.values.size(), 1U);
  EXPECT_NE(value(flip, fakedrm::kOverlay, "FB_ID"), ~std::uint64_t{0});
  EXPECT_NE(value(flip, fakedrm::kOverlay, "FB_ID"), 0U);
}

TEST_F(DisplayTest, an_overlay_over_black_where_the_primary_must_cover)
{
  fakedrm::device().primary_centres = false;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(100, 100)));
  // the overlay alone would do for this driver; one that needs a primary plane gets a black one
  ASSERT_TRUE(show(**display, xrgb(memory, 100, 100)));
  EXPECT_NE(value(commit(0), fakedrm::kOverlay, "FB_ID"), 0U);
}

TEST_F(DisplayTest, without_writeback_where_the_driver_refuses_it)
{
  fakedrm::device().takes_writeback = false;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  EXPECT_EQ(value(commit(0), fakedrm::kWriteback, "CRTC_ID"), 0U);
  const Result<Snapshot> refused = (*display)->snapshot();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("refused to attach"), std::string::npos);
  EXPECT_EQ(fakedrm::device().commits.size(), 1U);
}

// It costs bandwidth, and some devices modes and planes.
TEST_F(DisplayTest, writeback_is_attached_for_a_snapshot_alone)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)) && (*display)->drain(kLong_ns));
  EXPECT_EQ(value(commit(0), fakedrm::kWriteback, "CRTC_ID"), 0U);
  (void)(*display)->snapshot(); // the fake writes nothing
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)) && (*display)->drain(kLong_ns));
  ASSERT_EQ(fakedrm::device().commits.size(), 5U);
  for (const auto &[index, crtc] : {std::pair(1U, fakedrm::kCrtc), std::pair(3U, 0U)}) {
    EXPECT_EQ(value(commit(index), fakedrm::kWriteback, "CRTC_ID"), crtc);
    EXPECT_EQ(commit(index).values.size(), 1U);
    EXPECT_TRUE(commit(index).flags & DRM_MODE_ATOMIC_ALLOW_MODESET);
  }
  EXPECT_NE(value(commit(2), fakedrm::kWriteback, "WRITEBACK_FB_ID"), ~std::uint64_t{0});
  EXPECT_EQ(commit(4).values.size(), 1U); // a frame
}

TEST_F(DisplayTest, stop_restores_what_was)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  ASSERT_TRUE((*display)->stop());
  const fakedrm::Commit &last = fakedrm::device().commits.back();
  EXPECT_EQ(value(last, fakedrm::kCrtc, "ACTIVE"), 0U);
  EXPECT_EQ(value(last, fakedrm::kPrimary, "FB_ID"), 0U);
  EXPECT_EQ(value(last, fakedrm::kConnector, "CRTC_ID"), 0U);
  EXPECT_TRUE(fakedrm::device().framebuffers.empty());
  EXPECT_TRUE(fakedrm::device().handles.empty());
}

TEST_F(DisplayTest, a_turned_picture_gets_a_mode_that_holds_it_turned)
{
  auto display = open();
  ASSERT_TRUE(display);
  View view;
  view.rotation = DRM_MODE_ROTATE_90;
  (*display)->set_view(view);
  EXPECT_EQ((*display)->limits().max_width, 768U);
  EXPECT_EQ((*display)->limits().max_height, 1024U);
  ASSERT_TRUE((*display)->start() && (*display)->configure(picture(480, 640)));
  const Result<Shown> shown = show(**display, xrgb(memory, 480, 640));
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "CRTC_W"), 640U);
  EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "CRTC_X"), 0U); // the mode is 640x480
  EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "rotation"), DRM_MODE_ROTATE_90);
}

// A thread that is inside a call holds the display a moment longer than the sink does.
TEST_F(DisplayTest, an_output_is_free_while_somebody_still_holds_the_display)
{
  auto held = open();
  ASSERT_TRUE(held && (*held)->start() && (*held)->configure(picture(640, 480)));
  ASSERT_TRUE(show(**held, xrgb(memory, 640, 480)));
  EXPECT_EQ((*open())->take_output().error().sys_errno, EBUSY);
  EXPECT_TRUE((*held)->give_up_output());
  auto next = open();
  ASSERT_TRUE(next) << next.error().message;
  ASSERT_TRUE((*next)->start() && (*next)->configure(picture(640, 480)));
  ASSERT_TRUE(show(**next, xrgb(memory, 640, 480)) && (*next)->drain(kLong_ns));
  const std::size_t commits = fakedrm::device().commits.size();
  (*held)->move_cursor(1, 1);
  EXPECT_FALSE((*held)->snapshot());
  held = Error{};
  EXPECT_EQ(fakedrm::device().commits.size(), commits); // the end of the first touches nothing
}

TEST_F(DisplayTest, a_mode_set_begins_with_colours_of_its_own)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  for (int i = 0; i < 2; i++)
    ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)) && (*display)->drain(kLong_ns));
  for (const char *name : {"GAMMA_LUT", "DEGAMMA_LUT", "CTM", "VRR_ENABLED"}) {
    EXPECT_EQ(value(commit(0), fakedrm::kCrtc, name), 0U) << name;
    EXPECT_EQ(value(commit(1), fakedrm::kCrtc, name), ~std::uint64_t{0}) << name;
  }
  EXPECT_EQ(value(commit(0), fakedrm::kConnector, "Broadcast RGB"), 0U);
}

TEST_F(DisplayTest, a_driver_without_modifiers_is_implicit)
{
  fakedrm::device().modifiers = false;
  auto display = open();
  ASSERT_TRUE(display);
  EXPECT_TRUE((*display)->formats().contains({DRM_FORMAT_NV12, kModImplicit}));
  EXPECT_FALSE((*display)->formats().contains({DRM_FORMAT_NV12, kModLinear}));
}

TEST_F(DisplayTest, no_master_no_connection)
{
  fakedrm::device().master = false;
  auto taken = open();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().sys_errno, EBUSY);
  fakedrm::device().master = true;
  fakedrm::device().connected = false;
  auto unplugged = open();
  ASSERT_FALSE(unplugged);
  EXPECT_NE(unplugged.error().message.find("Virtual-1"), std::string::npos);
}

// A picture larger than every mode: the largest one where a plane scales down, and refused where none does.
TEST_F(DisplayTest, a_picture_larger_than_every_mode)
{
  for (const bool scales : {false, true}) {
    replug();
    fakedrm::device().scales = scales;
    auto display = open();
    ASSERT_TRUE(display);
    EXPECT_TRUE(fakedrm::device().commits.empty()); // what was tried was a test
    EXPECT_TRUE(fakedrm::device().framebuffers.empty());
    EXPECT_EQ((*display)->limits().max_width, scales ? 8192U : 1024U);
    ASSERT_TRUE((*display)->start());
    const Result<void> configured = (*display)->configure(picture(2048, 1536));
    ASSERT_EQ(static_cast<bool>(configured), scales);
    if (!scales) {
      EXPECT_NE(configured.error().message.find("2048x1536 is larger than every mode (largest: 1024x768"),
                std::string::npos)
          << configured.error().message;
      continue;
    }
    const Memory large{2048 * 1536 * 4};
    ASSERT_TRUE(show(**display, xrgb(large, 2048, 1536)) && (*display)->drain(kLong_ns));
    EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "CRTC_W"), 1024U);
    EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "CRTC_H"), 768U);
    EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "SRC_W"), std::uint64_t{2048} << 16);
  }
}

} // namespace
