// SPDX-License-Identifier: LGPL-2.1-or-later
// Where drmoverlay draws, and the dots of its letters.
#include <algorithm>
#include <climits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "overlay/drawing.hpp"

namespace gstdrm::metis {

void PrintTo(const Area &area, std::ostream *out)
{
  *out << area.x << " " << area.y << " " << area.width << " " << area.height;
}

} // namespace gstdrm::metis

namespace {

using namespace gstdrm::metis;

constexpr Argb kGround = 0xff000080;

struct ClipRow {
  Area box, expected;
};
const ClipRow kClips[] = {
    {{1, 2, 3, 4}, {1, 2, 3, 4}},
    {{-5, -5, 10, 20}, {0, 0, 5, 15}},
    {{90, 40, 100, 100}, {90, 40, 10, 10}},
    {{100, 0, 5, 5}, {100, 0, 0, 5}},
    {{INT_MAX, INT_MAX, INT_MAX, INT_MAX}, {100, 50, 0, 0}},
    {{INT_MIN, INT_MIN, INT_MAX, INT_MAX}, {0, 0, 0, 0}},
    {{0, 0, INT_MAX, INT_MAX}, {0, 0, 100, 50}},
};

class Clips : public testing::TestWithParam<ClipRow> {};
TEST_P(Clips, WithinTheFrame)
{
  EXPECT_EQ(clipped(GetParam().box, 100, 50), GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(Drawing, Clips, testing::ValuesIn(kClips));

// Every pixel of the edge is in one line, none in two, and none inside.
TEST(Drawing, OutlineCoversTheEdgeOnce)
{
  for (const Area box : {Area{0, 0, 10, 10}, Area{3, 4, 5, 7}, Area{0, 0, 4, 20}, Area{1, 1, 20, 3}, Area{2, 2, 1, 1}}) {
    std::vector<int> covered(32 * 32, 0);
    for (const Area &line : outline(box, 2))
      for (int y = line.y; y < line.y + line.height; y++)
        for (int x = line.x; x < line.x + line.width; x++)
          covered[static_cast<std::size_t>(y * 32 + x)]++;
    for (int y = 0; y < 32; y++)
      for (int x = 0; x < 32; x++) {
        const int in_x = std::min(x - box.x, box.x + box.width - 1 - x), in_y = std::min(y - box.y, box.y + box.height - 1 - y);
        const bool edge = in_x >= 0 && in_y >= 0 && std::min(in_x, in_y) < 2;
        EXPECT_EQ(covered[static_cast<std::size_t>(y * 32 + x)], edge ? 1 : 0) << x << " " << y;
      }
  }
}

TEST(Drawing, NoOutlineOfNothing)
{
  EXPECT_TRUE(outline({1, 1, 0, 5}, 2).empty());
  EXPECT_TRUE(outline({1, 1, 5, -5}, 2).empty());
}

std::string art(const Bitmap &bitmap)
{
  std::string text;
  for (std::size_t i = 0; i < bitmap.pixels.size(); i++) {
    text += bitmap.pixels[i] == kGround ? '.' : '#';
    if ((i + 1) % static_cast<std::size_t>(bitmap.width) == 0)
      text += '\n';
  }
  return text;
}

TEST(Drawing, LettersWithAMargin)
{
  EXPECT_EQ(art(draw_label("Li", 1, kGround)), ".............\n"
                                               ".#.......#...\n"
                                               ".#...........\n"
                                               ".#......##...\n"
                                               ".#.......#...\n"
                                               ".#.......#...\n"
                                               ".#.......#...\n"
                                               ".#####..###..\n"
                                               ".............\n");
}

TEST(Drawing, DotsGrow)
{
  const Bitmap small = draw_label("face 92%", 1, kGround), large = draw_label("face 92%", 3, kGround);
  ASSERT_EQ(large.width, 3 * small.width);
  ASSERT_EQ(large.height, 3 * small.height);
  for (int y = 0; y < large.height; y++)
    for (int x = 0; x < large.width; x++)
      ASSERT_EQ(large.pixels[static_cast<std::size_t>(y * large.width + x)], small.pixels[static_cast<std::size_t>(y / 3 * small.width + x / 3)]);
}

// No two letters look the same, and none but the space is empty.
TEST(Drawing, LettersDiffer)
{
  std::vector<std::string> seen;
  for (char character = ' '; character <= '~'; character++) {
    const std::string drawn = art(draw_label(std::string(1, character), 1, kGround));
    EXPECT_EQ(std::count(seen.begin(), seen.end(), drawn), 0) << character;
    EXPECT_EQ(drawn.find('#') == std::string::npos, character == ' ') << character;
    seen.push_back(drawn);
  }
}

struct TextRow {
  const char *name;
  std::string text;
  std::string same_as;
};
const TextRow kTexts[] = {
    {"one question mark per character", "d\xc3\xb6g \xe2\x82\xac", "d?g ?"},
    {"control characters", "a\nb\x7f", "a?b?"},
    {"a stray byte of UTF-8", "a\xbfz", "az"},
    {"cut", std::string(4000, 'x'), std::string(48, 'x')},
};

class Texts : public testing::TestWithParam<TextRow> {};
TEST_P(Texts, Drawn)
{
  const Bitmap drawn = draw_label(GetParam().text, 1, kGround), expected = draw_label(GetParam().same_as, 1, kGround);
  EXPECT_EQ(drawn.width, expected.width);
  EXPECT_EQ(drawn.pixels, expected.pixels);
}
INSTANTIATE_TEST_SUITE_P(Drawing, Texts, testing::ValuesIn(kTexts));

TEST(Drawing, NoLabelOfNothing)
{
  EXPECT_TRUE(draw_label("", 1, kGround).pixels.empty());
  EXPECT_TRUE(draw_label("x", 0, kGround).pixels.empty());
}

struct PlaceRow {
  Area box, expected;
};
// A label of 20 x 9 in a frame of 100 x 50.
const PlaceRow kPlaces[] = {
    {{10, 20, 30, 10}, {10, 11, 20, 9}}, // above
    {{10, 5, 30, 10}, {10, 5, 20, 9}},   // no room above
    {{95, 20, 5, 10}, {80, 11, 20, 9}},  // at the right edge
    {{0, 0, 100, 50}, {0, 0, 20, 9}},
};

class Places : public testing::TestWithParam<PlaceRow> {};
TEST_P(Places, InTheFrame)
{
  EXPECT_EQ(place_label({20, 9, {}}, GetParam().box, 100, 50), GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(Drawing, Places, testing::ValuesIn(kPlaces));

TEST(Drawing, ColoursAreOpaqueAndStay)
{
  for (const char *name : {"", "face", "class 1", "d\xc3\xb6g"}) {
    EXPECT_EQ(colour_of(name), colour_of(name));
    EXPECT_EQ(colour_of(name) >> 24, 0xffU);
  }
}

TEST(Drawing, PenGrowsWithTheFrame)
{
  EXPECT_EQ(pen_for(1).line, 2);
  EXPECT_EQ(pen_for(240).letter, 1);
  EXPECT_EQ(pen_for(1080).letter, 4);
  EXPECT_EQ(pen_for(1080).line, 6);
  EXPECT_EQ(pen_for(INT_MAX).line, 8);
  EXPECT_EQ(pen_for(INT_MAX).letter, 8);
}

} // namespace
