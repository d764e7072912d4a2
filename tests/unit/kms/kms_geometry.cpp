// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gst/kms/engine/commit/kms_geometry.hpp"

#include <string>

#include <gtest/gtest.h>

namespace {

using gstdrm::kms::Fit;
using gstdrm::kms::intersect;
using gstdrm::kms::place;
using gstdrm::kms::Placement;
using gstdrm::kms::Rectangle;
using gstdrm::kms::Shape;

struct Row {
  const char *name;
  Shape shape;
  Rectangle area;
  Fit fit;
  Rectangle source, destination;
  bool scaled;
};

constexpr Rectangle k1080{0, 0, 1920, 1080};

const Row kRows[] = {
    {"contain_same_size", {1920, 1080}, k1080, Fit::Contain, {0, 0, 1920, 1080}, k1080, false},
    {"contain_same_shape", {640, 360}, k1080, Fit::Contain, {0, 0, 640, 360}, k1080, true},
    {"contain_narrow", {640, 480}, k1080, Fit::Contain, {0, 0, 640, 480}, {240, 0, 1440, 1080}, true},
    {"contain_wide", {1920, 800}, k1080, Fit::Contain, {0, 0, 1920, 800}, {0, 140, 1920, 800}, false},
    {"contain_larger", {3840, 2160}, k1080, Fit::Contain, {0, 0, 3840, 2160}, k1080, true},
    {"contain_pal_16_9", {720, 576, 64, 45}, k1080, Fit::Contain, {0, 0, 720, 576}, k1080, true},
    {"contain_pal_4_3", {720, 576, 16, 15}, k1080, Fit::Contain, {0, 0, 720, 576}, {240, 0, 1440, 1080}, true},
    {"contain_turned", {640, 480, 1, 1, true}, k1080, Fit::Contain, {0, 0, 640, 480}, {555, 0, 810, 1080}, true},
    {"contain_turned_pal", {720, 576, 64, 45, true}, k1080, Fit::Contain, {0, 0, 720, 576}, {656, 0, 608, 1080}, true},
    {"contain_in_an_area", {640, 480}, {100, 50, 320, 480}, Fit::Contain, {0, 0, 640, 480}, {100, 170, 320, 240}, true},
    {"contain_thin_line_stays", {8192, 2}, {0, 0, 640, 480}, Fit::Contain, {0, 0, 8192, 2}, {0, 239, 640, 1}, true},
    {"cover_same_size", {1920, 1080}, k1080, Fit::Cover, {0, 0, 1920, 1080}, k1080, false},
    {"cover_narrow_loses_rows", {640, 480}, k1080, Fit::Cover, {0, 60, 640, 360}, k1080, true},
    {"cover_wide_loses_columns", {1920, 800}, k1080, Fit::Cover, {248, 0, 1422, 800}, k1080, true},
    {"cover_only_crops", {1920, 1200}, k1080, Fit::Cover, {0, 60, 1920, 1080}, k1080, false},
    {"cover_turned", {640, 480, 1, 1, true}, k1080, Fit::Cover, {184, 0, 270, 480}, k1080, true},
    {"cover_pal_16_9_loses_nothing", {720, 576, 64, 45}, k1080, Fit::Cover, {0, 0, 720, 576}, k1080, true},
    {"none_is_centred", {640, 480}, k1080, Fit::None, {0, 0, 640, 480}, {640, 300, 640, 480}, false},
    {"none_odd_margin", {641, 481}, {0, 0, 1024, 768}, Fit::None, {0, 0, 641, 481}, {191, 143, 641, 481}, false},
    {"none_crops", {3840, 2160}, k1080, Fit::None, {960, 540, 1920, 1080}, k1080, false},
    {"none_crops_one_way", {3840, 480}, k1080, Fit::None, {960, 0, 1920, 480}, {0, 300, 1920, 480}, false},
    {"none_turned", {640, 480, 1, 1, true}, k1080, Fit::None, {0, 0, 640, 480}, {720, 220, 480, 640}, false},
    {"none_turned_crops", {1920, 480, 1, 1, true}, k1080, Fit::None, {420, 0, 1080, 480}, {720, 0, 480, 1080}, false},
    {"none_ignores_pixel_aspect", {720, 576, 64, 45}, k1080, Fit::None, {0, 0, 720, 576}, {600, 252, 720, 576}, false},
    {"none_in_an_area", {640, 480}, {-20, 10, 101, 51}, Fit::None, {270, 214, 100, 50}, {-20, 10, 100, 50}, false},
    {"contain_wide_pixels_scale_rows_alone", {1920, 540, 1, 2}, k1080, Fit::Contain, {0, 0, 1920, 540}, k1080, true},
    {"contain_wide_pixels_scale_columns_alone", {960, 1080, 2, 1}, k1080, Fit::Contain, {0, 0, 960, 1080}, k1080, true},
    {"contain_half_a_pixel_rounds_up", {1000, 333}, {0, 0, 500, 500}, Fit::Contain, {0, 0, 1000, 333}, {0, 166, 500, 167}, true},
    {"cover_scales_rows_alone", {1920, 600, 1, 2}, k1080, Fit::Cover, {0, 30, 1920, 540}, k1080, true},
    {"fill_narrow", {640, 480}, k1080, Fit::Fill, {0, 0, 640, 480}, k1080, true},
    {"fill_same_size", {1920, 1080}, k1080, Fit::Fill, {0, 0, 1920, 1080}, k1080, false},
    {"fill_turned", {640, 480, 1, 1, true}, k1080, Fit::Fill, {0, 0, 640, 480}, k1080, true},
    {"fill_in_an_area", {640, 480, 2, 1}, {100, 50, 320, 480}, Fit::Fill, {0, 0, 640, 480}, {100, 50, 320, 480}, true},
    {"pal_16_9_on_its_own_mode", {720, 576, 64, 45, false, 64.0 / 45}, {0, 0, 720, 576}, Fit::Contain, {0, 0, 720, 576}, {0, 0, 720, 576}, false},
    {"pal_4_3_on_a_mode_of_16_9", {720, 576, 16, 15, false, 64.0 / 45}, {0, 0, 720, 576}, Fit::Contain, {0, 0, 720, 576}, {90, 0, 540, 576}, true},
    {"square_pixels_on_a_mode_of_16_9", {1280, 720, 1, 1, false, 64.0 / 45}, {0, 0, 720, 576}, Fit::Contain, {0, 0, 1280, 720}, {0, 0, 720, 576}, true},
    {"turned_on_a_mode_of_16_9", {576, 720, 45, 64, true, 64.0 / 45}, {0, 0, 720, 576}, Fit::Contain, {0, 0, 576, 720}, {0, 0, 720, 576}, false},
    {"cover_on_a_mode_of_16_9", {640, 480, 1, 1, false, 64.0 / 45}, {0, 0, 720, 576}, Fit::Cover, {0, 60, 640, 360}, {0, 0, 720, 576}, true},
    {"no_screen", {640, 480, 1, 1, false, 0}, k1080, Fit::Contain, {}, {}, false},
    {"no_height", {640, 0}, k1080, Fit::Contain, {}, {}, false},
    {"no_area_height", {640, 480}, {0, 0, 10, 0}, Fit::Contain, {}, {}, false},
    {"no_pixel_width", {640, 480, 0, 1}, k1080, Fit::Contain, {}, {}, false},
    {"no_pixel_height", {640, 480, 1, 0}, k1080, Fit::Contain, {}, {}, false},
    {"empty_area", {640, 480}, {0, 0, 0, 10}, Fit::Contain, {}, {}, false},
    {"empty_picture", {0, 480}, k1080, Fit::Cover, {}, {}, false},
};

class Place : public testing::TestWithParam<Row> {};

TEST_P(Place, gives)
{
  const Row &row = GetParam();
  const Placement placement = place(row.shape, row.area, row.fit);
  EXPECT_EQ(placement.source, row.source) << gstdrm::kms::describe_rectangle(placement.source);
  EXPECT_EQ(placement.destination, row.destination) << gstdrm::kms::describe_rectangle(placement.destination);
  EXPECT_EQ(placement.scaled, row.scaled);
}

INSTANTIATE_TEST_SUITE_P(Rows, Place, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

// Whatever the sizes: inside the picture and inside the area.
TEST(PlaceAll, stays_inside)
{
  for (const std::uint32_t width : {1U, 2U, 3U, 17U, 640U, 65535U})
    for (const std::uint32_t height : {1U, 2U, 5U, 480U, 65535U})
      for (const std::uint32_t area_width : {1U, 7U, 1920U})
        for (const std::uint32_t par : {1U, 3U, 1000000U})
          for (const bool turned : {false, true})
            for (const Fit fit : {Fit::Contain, Fit::Cover, Fit::None}) {
              const Rectangle area{-5, 3, area_width, 1080};
              const Placement p = place({width, height, par, 2, turned}, area, fit);
              EXPECT_GE(p.source.x, 0);
              EXPECT_GE(p.source.y, 0);
              EXPECT_GE(p.source.width, 1U);
              EXPECT_GE(p.source.height, 1U);
              EXPECT_LE(static_cast<std::uint32_t>(p.source.x) + p.source.width, width);
              EXPECT_LE(static_cast<std::uint32_t>(p.source.y) + p.source.height, height);
              EXPECT_EQ(intersect(p.destination, area), p.destination);
            }
}

struct MeetRow {
  const char *name;
  Rectangle a, b;
  std::optional<Rectangle> both;
};

const MeetRow kMeetRows[] = {
    {"inside", {10, 20, 30, 40}, k1080, Rectangle{10, 20, 30, 40}},
    {"left_edge", {-100, 0, 300, 300}, k1080, Rectangle{0, 0, 200, 300}},
    {"right_edge", {1900, 1000, 300, 300}, k1080, Rectangle{1900, 1000, 20, 80}},
    {"touching", {1920, 0, 10, 10}, k1080, std::nullopt},
    {"touching_below", {0, 1080, 10, 10}, k1080, std::nullopt},
    {"one_pixel", {1919, 1079, 10, 10}, k1080, Rectangle{1919, 1079, 1, 1}},
    {"far_out", {-2000, 0, 100, 100}, k1080, std::nullopt},
    {"extreme", {INT32_MAX, INT32_MAX, UINT32_MAX, UINT32_MAX}, k1080, std::nullopt},
    {"huge", {INT32_MIN, INT32_MIN, UINT32_MAX, UINT32_MAX}, k1080, k1080},
    {"empty", {0, 0, 0, 0}, k1080, std::nullopt},
};

class Meet : public testing::TestWithParam<MeetRow> {};

TEST_P(Meet, both)
{
  EXPECT_EQ(intersect(GetParam().a, GetParam().b), GetParam().both);
  EXPECT_EQ(intersect(GetParam().b, GetParam().a), GetParam().both);
}

INSTANTIATE_TEST_SUITE_P(Rows, Meet, testing::ValuesIn(kMeetRows),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
