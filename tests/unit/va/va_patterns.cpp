// SPDX-License-Identifier: LGPL-2.1-or-later
#include <cstdint>

#include <gtest/gtest.h>

#include "gst/va/engine/va_patterns.hpp"

namespace {

using namespace gstdrm::va;

Picture draw_frame(Pattern pattern, std::uint32_t width, std::uint32_t height, std::uint64_t frame,
                   std::uint64_t timestamp_ns = 0, std::uint32_t argb = 0xff112233)
{
  auto plan = make_plan(pattern, width, height, argb);
  EXPECT_TRUE(plan) << plan.error().message;
  move_pieces(*plan, frame, timestamp_ns);
  Picture picture{width, height, std::vector<std::uint32_t>(static_cast<std::size_t>(width) * height, 0)};
  draw(*plan, picture);
  return picture;
}

bool is_white(const Picture &picture, std::uint32_t x, std::uint32_t y)
{
  return (picture.argb[static_cast<std::size_t>(y) * picture.width + x] & 0xff) > 127;
}

std::uint64_t read_bytes(const Picture &picture, std::uint32_t cell, std::uint32_t first, std::uint32_t count)
{
  std::uint64_t value = 0;
  for (std::uint32_t i = first; i < first + count; ++i) {
    for (std::uint32_t bit = 0; bit < 8; ++bit)
      value = value << 1 | (is_white(picture, bit * cell + cell / 2, i * cell + cell / 2) ? 1U : 0U);
  }
  return value;
}

struct CounterRow {
  const char *name;
  std::uint32_t width;
  std::uint32_t height;
  std::uint64_t frame;
  std::uint64_t timestamp_ns;
};
class Counter : public testing::TestWithParam<CounterRow> {};

TEST_P(Counter, ReadsBack)
{
  const auto &row = GetParam();
  const auto picture = draw_frame(Pattern::FrameCounter, row.width, row.height, row.frame, row.timestamp_ns);
  const auto cell = counter_cell(row.width, row.height);
  ASSERT_GT(cell, 0U);
  EXPECT_EQ(read_bytes(picture, cell, 0, 4), row.frame);
  EXPECT_EQ(read_bytes(picture, cell, 4, 8), row.timestamp_ns);
  unsigned sum = 0;
  for (std::uint32_t i = 0; i < 12; ++i)
    sum += static_cast<unsigned>(read_bytes(picture, cell, i, 1));
  EXPECT_EQ(read_bytes(picture, cell, 12, 1), ~sum & 0xffU);
}
const CounterRow kCounterRows[] = {
    {"zero", 640, 480, 0, 0},
    {"one", 640, 480, 1, 33333333},
    {"all_bits", 640, 480, 0xffffffff, 0xffffffffffffffff},
    {"alternating", 64, 104, 0xaaaaaaaa, 0x5555555555555555},
    {"cells_of_four", 64, 64, 12345, 987654321},
    {"smallest", 16, 26, 599, 19966666666},
};
INSTANTIATE_TEST_SUITE_P(Rows, Counter, testing::ValuesIn(kCounterRows),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Plan, CounterNeedsRoom)
{
  EXPECT_FALSE(make_plan(Pattern::FrameCounter, 15, 26, 0));
  EXPECT_FALSE(make_plan(Pattern::FrameCounter, 16, 25, 0));
}

// Sizes that caps may have and no memory has room for.
TEST(Plan, HostileSizesAreRefused)
{
  for (const Pattern pattern : {Pattern::Smpte, Pattern::Checkers, Pattern::Gradient, Pattern::Ball, Pattern::Solid,
                                Pattern::FrameCounter}) {
    EXPECT_FALSE(make_plan(pattern, 2147483647, 2147483647, 0));
    EXPECT_FALSE(make_plan(pattern, 2147483647, 1, 0));
    EXPECT_FALSE(make_plan(pattern, 1, 16385, 0));
    EXPECT_FALSE(make_plan(pattern, 0, 64, 0));
  }
}

TEST(Plan, SolidIsOneColour)
{
  const auto picture = draw_frame(Pattern::Solid, 37, 21, 5);
  for (const auto pixel : picture.argb)
    ASSERT_EQ(pixel, 0xff112233U);
}

// Without a heap overflow, which the sanitizers see, and in the bounds of the frame, which the device needs.
TEST(Plan, BallFitsFramesOfOnePixel)
{
  for (const auto &[width, height] : {std::pair{1U, 1U}, {1U, 64U}, {64U, 1U}, {2U, 1U}, {3U, 2U}}) {
    auto plan = make_plan(Pattern::Ball, width, height, 0);
    ASSERT_TRUE(plan);
    for (std::uint64_t frame = 0; frame < 50; ++frame) {
      move_pieces(*plan, frame, 0);
      for (const auto &piece : plan->pieces) {
        EXPECT_LE(piece.to.x + piece.to.width, width) << width << "x" << height;
        EXPECT_LE(piece.to.y + piece.to.height, height) << width << "x" << height;
      }
    }
  }
}

TEST(Plan, NoPictureOfTheCounterIsHigherThanSmallDriversTake)
{
  const auto plan = make_plan(Pattern::FrameCounter, 640, 480, 0);
  ASSERT_TRUE(plan);
  for (const auto &picture : plan->pictures)
    EXPECT_LE(picture.height, 512U);
}

TEST(Plan, BallStaysInsideAndMoves)
{
  auto plan = make_plan(Pattern::Ball, 320, 240, 0);
  ASSERT_TRUE(plan);
  Rect last{};
  for (std::uint64_t frame = 0; frame < 1000; ++frame) {
    move_pieces(*plan, frame, 0);
    const auto &to = plan->pieces[1].to;
    ASSERT_LE(to.x + to.width, 320U) << frame;
    ASSERT_LE(to.y + to.height, 240U) << frame;
    ASSERT_EQ(to.x % 2 + to.y % 2, 0U) << "chroma samples must not be cut, frame " << frame;
    ASSERT_TRUE(frame == 0 || to.x != last.x || to.y != last.y) << frame;
    last = to;
  }
}

TEST(Plan, GradientCropStaysInItsPicture)
{
  auto plan = make_plan(Pattern::Gradient, 640, 16, 0);
  ASSERT_TRUE(plan);
  for (std::uint64_t frame = 0; frame < 1000; ++frame) {
    move_pieces(*plan, frame, 0);
    ASSERT_LE(plan->pieces[0].from.x + plan->pieces[0].from.width, plan->pictures[0].width);
  }
}

TEST(Plan, GradientIsNoWiderThanTheDevice)
{
  const auto plan = make_plan(Pattern::Gradient, 8000, 16, 0, 8192);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->pictures[0].width, 8000U);
}

TEST(Patterns, PaddingChangesNoFrame)
{
  for (const Pattern pattern : {Pattern::Smpte, Pattern::Gradient, Pattern::Ball, Pattern::Solid, Pattern::FrameCounter}) {
    auto plan = make_plan(pattern, 16, 26, 0xff112233);
    ASSERT_TRUE(plan) << plan.error().message;
    pad_pictures(*plan, 40, 50);
    for (const Picture &picture : plan->pictures)
      EXPECT_TRUE(picture.width >= 40 && picture.height >= 50 &&
                  picture.argb.size() == static_cast<std::size_t>(picture.width) * picture.height);
    move_pieces(*plan, 7, 99);
    Picture padded{16, 26, std::vector<std::uint32_t>(std::size_t{16} * 26, 0)};
    draw(*plan, padded);
    EXPECT_EQ(padded.argb, draw_frame(pattern, 16, 26, 7, 99).argb);
  }
}

} // namespace
