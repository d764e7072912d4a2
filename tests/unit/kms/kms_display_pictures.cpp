// SPDX-License-Identifier: LGPL-2.1-or-later
// The engine against a fake libdrm: what a commit says so that the pixels of a picture look right.
#include "edids.hpp"
#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

constexpr std::uint64_t kPremultiplied = 0, kCoverage = 1, kNone = 2;
constexpr std::uint64_t kUnset = ~std::uint64_t{0};

// Found on the plane: "Coverage", and half transparent.
struct AlphaRow {
  const char *name;
  std::uint32_t fourcc;
  Alpha alpha;
  bool blends_straight;
  std::uint64_t mode;
  const char *says; // where the picture is; empty: all is well
};

const AlphaRow kAlphaRows[] = {
    {"straight", DRM_FORMAT_ARGB8888, Alpha::Straight, true, kCoverage, ""},
    {"straight_where_it_cannot", DRM_FORMAT_ARGB8888, Alpha::Straight, false, kNone,
     "without its alpha"},
    {"premultiplied", DRM_FORMAT_ARGB8888, Alpha::Premultiplied, true, kPremultiplied, ""},
    {"no_alpha", DRM_FORMAT_XRGB8888, Alpha::Straight, true, kUnset, ""},
};

class Alphas : public DisplayTest, public testing::WithParamInterface<AlphaRow> {};

TEST_P(Alphas, are_blended_as_they_are_meant)
{
  fakedrm::device().overlay_extra = DRM_FORMAT_ARGB8888;
  fakedrm::device().blends_straight = GetParam().blends_straight;
  auto display = open();
  Picture p = picture(1024, 768);
  p.format.fourcc = GetParam().fourcc;
  p.alpha = GetParam().alpha;
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(p));
  FrameLayout layout = xrgb(memory, 1024, 768);
  layout.format = p.format;
  ASSERT_TRUE(show(**display, layout) && (*display)->drain(kLong_ns));
  const std::uint32_t plane =
      p.format.fourcc == DRM_FORMAT_ARGB8888 ? fakedrm::kOverlay : fakedrm::kPrimary;
  EXPECT_EQ(value(commit(0), plane, "pixel blend mode"), GetParam().mode);
  EXPECT_EQ(value(commit(0), plane, "alpha"), 0xffffU); // another program left 0x8000
  const std::string says = GetParam().says;
  EXPECT_NE(listener.where.find(says), std::string::npos) << listener.where;
  EXPECT_EQ(listener.where.find("alpha") == std::string::npos, says.empty()) << listener.where;
}

INSTANTIATE_TEST_SUITE_P(Rows, Alphas, testing::ValuesIn(kAlphaRows),
                         [](const auto &info) { return std::string(info.param.name); });

// A part of a larger frame: a flip that shows another part says so, and no other one does.
TEST_F(DisplayTest, a_part_of_a_frame_moves_without_another_framebuffer)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  const auto push = [&](Origin origin) {
    Result<FramebufferCache::Import> import = (*display)->import(xrgb(memory, 1024, 768));
    ASSERT_TRUE(import);
    Frame frame;
    frame.framebuffer = import->imported;
    frame.origin = origin;
    ASSERT_TRUE((*display)->show(frame, FlipQueue::Overflow::Wait));
    ASSERT_TRUE((*display)->drain(kLong_ns));
  };
  const auto source = [](const char *name) {
    const std::uint64_t set = value(fakedrm::device().commits.back(), fakedrm::kPrimary, name);
    return set == kUnset ? set : set >> 16;
  };
  push({31, 33});
  EXPECT_EQ(source("SRC_X"), 31U);
  EXPECT_EQ(source("SRC_Y"), 33U);
  EXPECT_EQ(source("SRC_W"), 640U);
  push({31, 33});
  EXPECT_EQ(source("SRC_X"), kUnset);
  push({32, 0});
  EXPECT_EQ(source("SRC_X"), 32U);
  EXPECT_EQ(source("SRC_Y"), 0U);
  EXPECT_EQ(source("SRC_W"), kUnset);
  EXPECT_EQ(fakedrm::device().framebuffers.size(), 1U);
  EXPECT_EQ((*display)->counters().commits, 3U);
}

// The cable carries more bits for a picture that needs them, and as many as before when it ends.
TEST_F(DisplayTest, the_cable_carries_the_bits_of_the_picture)
{
  fakedrm::device().overlay_extra = DRM_FORMAT_P010;
  fakedrm::device().foreign_blobs[700] = edids::television();
  fakedrm::device().found[{fakedrm::kConnector, "EDID"}] = 700;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start());
  Picture sdr = picture(1024, 768), hdr = sdr, deep = sdr;
  hdr.hdr = HdrMetadata{};
  deep.format.fourcc = DRM_FORMAT_P010;
  struct Row {
    Picture picture;
    std::uint64_t bpc;
  };
  const Row rows[] = {{sdr, 8}, {hdr, 10}, {sdr, 8}, {deep, 10}, {deep, kUnset}};
  for (const Row &row : rows) {
    FrameLayout layout = nv12(memory, memory, 1024, 768);
    layout.format.fourcc = row.picture.format.fourcc;
    if (row.picture.format.fourcc == DRM_FORMAT_XRGB8888)
      layout = xrgb(memory, 1024, 768);
    ASSERT_TRUE((*display)->configure(row.picture) && show(**display, layout) &&
                (*display)->drain(kLong_ns));
    EXPECT_EQ(value(fakedrm::device().commits.back(), fakedrm::kConnector, "max bpc"), row.bpc);
  }
  ASSERT_TRUE((*display)->stop());
  EXPECT_EQ(value(fakedrm::device().commits.back(), fakedrm::kConnector, "max bpc"), 8U);
}

} // namespace
