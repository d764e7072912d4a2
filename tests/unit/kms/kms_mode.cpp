// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gst/kms/engine/output/kms_mode.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using gstdrm::kms::ModePicture;
using gstdrm::kms::ModeRequest;
using gstdrm::kms::order_modes;
using gstdrm::kms::parse_mode_request;
using gstdrm::kms::pixel_aspect;
using gstdrm::kms::Rate;

drmModeModeInfo mode(std::uint32_t clock_khz, std::uint16_t w, std::uint16_t htotal, std::uint16_t h,
                     std::uint16_t vtotal, std::uint32_t flags = 0, std::uint32_t type = 0)
{
  drmModeModeInfo m{};
  m.clock = clock_khz;
  m.hdisplay = w;
  m.htotal = htotal;
  m.vdisplay = h;
  m.vtotal = vtotal;
  m.flags = flags;
  m.type = type;
  return m;
}

// VESA DMT and CTA-861 timings.
const drmModeModeInfo k640_60 = mode(25175, 640, 800, 480, 525);
const drmModeModeInfo k640_72 = mode(31500, 640, 832, 480, 520);
const drmModeModeInfo k640_75 = mode(31500, 640, 840, 480, 500);
const drmModeModeInfo k800_60 = mode(40000, 800, 1056, 600, 628);
const drmModeModeInfo k1024_60 = mode(65000, 1024, 1344, 768, 806, 0, DRM_MODE_TYPE_PREFERRED);
const drmModeModeInfo k1024_46 = mode(49839, 1024, 1344, 768, 806); // made up: 46.01 Hz
const drmModeModeInfo k1080_60 = mode(148500, 1920, 2200, 1080, 1125);
const drmModeModeInfo k1080_50 = mode(148500, 1920, 2640, 1080, 1125);
const drmModeModeInfo k1080_30 = mode(74250, 1920, 2200, 1080, 1125);
const drmModeModeInfo k1080_24 = mode(74250, 1920, 2750, 1080, 1125);
const drmModeModeInfo k1080_2398 = mode(74176, 1920, 2750, 1080, 1125);
const drmModeModeInfo k1080i_60 = mode(74250, 1920, 2200, 1080, 1125, DRM_MODE_FLAG_INTERLACE);
const drmModeModeInfo k1080_120 = mode(297000, 1920, 2200, 1080, 1125);
const drmModeModeInfo k1080p_60 = mode(148500, 1920, 2200, 1080, 1125, 0, DRM_MODE_TYPE_PREFERRED);
const drmModeModeInfo k1080p_50 = mode(148500, 1920, 2640, 1080, 1125, 0, DRM_MODE_TYPE_PREFERRED);
const drmModeModeInfo k720_60 = mode(74250, 1280, 1650, 720, 750);
const drmModeModeInfo k720_50 = mode(74250, 1280, 1980, 720, 750);
const drmModeModeInfo k720_30 = mode(74250, 1280, 3300, 720, 750);
const drmModeModeInfo k2160p_30 = mode(297000, 3840, 4400, 2160, 2250, 0, DRM_MODE_TYPE_PREFERRED); // HDMI 1.4
const drmModeModeInfo k720_2398 = mode(59341, 1280, 3300, 720, 750);

struct Row {
  const char *name;
  std::vector<drmModeModeInfo> modes;
  std::uint32_t width, height;
  Rate rate;
  int expected; // index; -1: none
};

// The first of the modes to try; -1: none.
int first_of(const std::vector<drmModeModeInfo> &modes, const ModeRequest &request, const ModePicture &picture)
{
  const auto order = order_modes(modes, request, picture);
  return order ? static_cast<int>(order->front()) : -1;
}

const ModeRequest kMatch{ModeRequest::Kind::Match};
const ModeRequest kAuto{ModeRequest::Kind::Auto};

// With mode=match.
const Row kRows[] = {
    {"exact_size_before_the_preferred_mode", {k1024_60, k640_60}, 640, 480, {60, 1}, 1},
    {"smallest_that_contains", {k1080_60, k1024_60, k800_60}, 700, 500, {60, 1}, 2},
    {"wide_picture_needs_a_wide_mode", {k1024_60, k1080_60}, 1900, 200, {30, 1}, 1},
    {"refresh_of_the_video", {k1080_60, k1080_50, k1080_24}, 1920, 1080, {25, 1}, 1},
    {"film_on_its_own_rate", {k1080_60, k1080_50, k1080_24}, 1920, 1080, {24, 1}, 2},
    {"24000_over_1001_is_not_24", {k1080_24, k1080_2398}, 1920, 1080, {24000, 1001}, 1},
    {"multiple_of_the_rate", {k1080_50, k1080_60}, 1920, 1080, {30, 1}, 1},
    {"24_fps_on_120_rather_than_60", {k1080_60, k1080_120}, 1920, 1080, {24, 1}, 1},
    {"lower_of_two_multiples", {k1080_120, k1080_60}, 1920, 1080, {60, 1}, 1},
    {"progressive_before_interlaced", {k1080i_60, k1080_50}, 1920, 1080, {60, 1}, 1},
    {"interlaced_where_nothing_else", {k1080i_60}, 1920, 1080, {60, 1}, 0},
    {"variable_rate_takes_the_preferred", {k800_60, k1024_60}, 1024, 768, {0, 1}, 1},
    {"the_preferred_before_a_lower_refresh", {k1024_46, k1024_60}, 1024, 768, {0, 1}, 1},
    {"the_rate_before_the_preferred", {k1024_60, k1024_46}, 1024, 768, {23, 1}, 1},
    {"webrtc_on_a_television", {k1080p_60, k1080_2398, k1080_50, k720_2398, k720_50, k720_60}, 1280, 720, {0, 1}, 5},
    {"webrtc_of_the_television_s_own_size", {k1080_2398, k1080_50, k1080p_60}, 1920, 1080, {0, 1}, 2},
    {"unknown_rate_in_europe", {k1080_60, k1080p_50, k720_2398, k720_60, k720_50}, 1280, 720, {0, 1}, 4},
    {"unknown_rate_on_a_television_of_2160p30", {k2160p_30, k720_30, k720_60, k720_2398}, 1280, 720, {0, 1}, 2},
    {"30_on_a_television_of_2160p30", {k2160p_30, k720_30, k720_60, k720_2398}, 1280, 720, {30, 1}, 1},
    {"unknown_rate_without_a_preferred_mode", {k640_75, k640_72, k640_60}, 640, 480, {0, 1}, 2},
    {"first_of_equal_modes", {k640_60, k640_60}, 640, 480, {60, 1}, 0},
    {"larger_than_all", {k640_60, k1024_60}, 1025, 100, {60, 1}, -1},
    {"higher_than_all", {k640_60, k1024_60}, 100, 769, {60, 1}, -1},
    {"no_modes", {}, 1, 1, {60, 1}, -1},
};

class ChooseMode : public testing::TestWithParam<Row> {};

TEST_P(ChooseMode, picks)
{
  const Row &row = GetParam();
  EXPECT_EQ(first_of(row.modes, kMatch, {row.width, row.height, row.rate}), row.expected);
}

INSTANTIATE_TEST_SUITE_P(Rows, ChooseMode, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

const drmModeModeInfo k2160_60 = mode(594000, 3840, 4400, 2160, 2250, 0, DRM_MODE_TYPE_PREFERRED);
const drmModeModeInfo k2160_30 = mode(297000, 3840, 4400, 2160, 2250);
const drmModeModeInfo k2160_24 = mode(297000, 3840, 5500, 2160, 2250);
const drmModeModeInfo k720_5994 = mode(74176, 1280, 1650, 720, 750);
const drmModeModeInfo k720x400_70 = mode(28320, 720, 900, 400, 449);

// All modes that may be tried, in their order, where the user does not ask for one and the display is dark.
struct AutoRow {
  const char *name;
  std::vector<drmModeModeInfo> modes;
  ModePicture picture;
  std::vector<std::size_t> expected; // empty: an error
};

const AutoRow kAutoRows[] = {
    {"a_small_picture_on_a_monitor", {k1080p_60, k1024_46, k720x400_70, k640_60}, {640, 360, {30, 1}}, {0, 2, 1, 3}},
    {"unknown_rate_on_a_television", {k1080p_60, k1080_2398, k1080_50, k720_60, k720_2398}, {1280, 720, {}}, {0, 3, 2, 1, 4}},
    {"film_where_the_own_size_has_its_rate", {k1080p_60, k1080_2398, k720_50, k720_5994, k720_60}, {1280, 720, {24000, 1001}}, {1, 0, 3, 4, 2}},
    {"film_by_two_and_three_before_50", {k720_50, k720_60, k720_5994}, {1280, 720, {24000, 1001}}, {2, 1, 0}},
    {"25_on_50", {k1080p_60, k1080_50, k1080_24}, {1280, 720, {25, 1}}, {1, 0, 2}},
    {"30_keeps_60", {k1080p_60, k1080_50, k1080_24}, {1280, 720, {30, 1}}, {0, 1, 2}},
    {"2160p60_refused", {k2160_60, k2160_30, k2160_24, k1080_60, k720_60}, {1920, 1080, {60, 1}}, {0, 3, 1, 2}},
    {"2160p60_refused_and_not_scaled", {k2160_60, k2160_30, k2160_24, k1080_60}, {3840, 2160, {60, 1}}, {0, 1, 2}},
    {"2160p60_scaled_down", {k1080p_60, k720_60}, {3840, 2160, {60, 1}, 0, true}, {0, 1}},
    {"larger_than_the_own_mode", {k1080p_60, k2160_30, k2160_24}, {2560, 1440, {25, 1}}, {1, 2}},
    {"larger_than_all", {k1080p_60, k720_60}, {2560, 1440, {25, 1}}, {}},
    {"unknown_rate_where_2160p30_is_preferred", {k2160p_30, k1080_30, k1080_60}, {1280, 720, {}}, {0, 2, 1}},
    {"another_shape_comes_last", {k1080p_60, k1024_46, k720_50}, {640, 480, {}}, {0, 2, 1}},
    {"interlaced_after_progressive", {k1080i_60, k1080p_60}, {1280, 720, {}}, {1, 0}},
    {"no_preferred_mode", {k720_60, k1080_60}, {640, 360, {}}, {0, 1}},
};

class AutoModes : public testing::TestWithParam<AutoRow> {};

TEST_P(AutoModes, in_order)
{
  const auto order = order_modes(GetParam().modes, kAuto, GetParam().picture);
  EXPECT_EQ(order ? *order : std::vector<std::size_t>{}, GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Rows, AutoModes, testing::ValuesIn(kAutoRows),
                         [](const auto &info) { return std::string(info.param.name); });

// The mode on screen stays, whatever the picture's size and rate.
TEST(ModesToTry, begin_with_the_mode_on_screen)
{
  const std::vector<drmModeModeInfo> modes = {k1080p_60, k720_2398, k640_60};
  const auto first = [&](const ModeRequest &request, const drmModeModeInfo &on_screen, const ModePicture &picture, bool fixed) {
    const auto tries = gstdrm::kms::modes_to_try({modes, request, on_screen, fixed}, picture);
    return tries ? gstdrm::kms::describe_mode(tries->front().mode) : tries.error().message;
  };
  EXPECT_EQ(first(kAuto, k1024_60, {640, 480, {24, 1}}, false), "1024x768@60.004");
  EXPECT_EQ(first(kAuto, k1024_60, {1280, 720, {}}, false), "1920x1080@60.000") << "the picture is larger";
  EXPECT_EQ(first(kAuto, k1024_60, {1280, 720, {}, 0, true}, false), "1024x768@60.004") << "scaled down";
  EXPECT_NE(first(kAuto, k1024_60, {1280, 720, {}}, true).find("1024x768@60.004"), std::string::npos);
  EXPECT_NE(first(kAuto, k1024_60, {1280, 720, {}}, true).find("videoscale"), std::string::npos);
}

const std::vector<drmModeModeInfo> kTelevision = {k1080_60, k1080_50,  k1080_24, k1080_2398,
                                                  k1080i_60, k1080_120, k1024_60, k640_60};

struct RequestRow {
  const char *name;
  const char *text;
  Rate rate;
  int expected; // index in kTelevision; -1: no such mode; -2: not understood
};

const RequestRow kRequestRows[] = {
    {"empty_leaves_the_display_s_own", "", {60, 1}, 6},
    {"auto", "auto", {60, 1}, 6},
    {"match", "match", {60, 1}, 7},
    {"preferred", "preferred", {24, 1}, 6},
    {"size_takes_the_rate_of_the_video", "1920x1080", {50, 1}, 1},
    {"size_and_film", "1920x1080", {24000, 1001}, 3},
    {"whole_number", "1920x1080@50", {60, 1}, 1},
    {"whole_number_rounds", "640x480@60", {0, 1}, 7}, // 59.94
    {"decimals", "1920x1080@23.98", {60, 1}, 3},
    {"nearest_of_two", "1920x1080@24", {60, 1}, 2},
    {"high", "1920x1080@120", {24, 1}, 5},
    {"interlaced", "1920x1080i@60", {60, 1}, 4},
    {"interlaced_any_rate", "1920x1080i", {50, 1}, 4},
    {"progressive_is_not_interlaced", "1024x768i", {60, 1}, -1},
    {"no_such_size", "1280x720", {60, 1}, -1},
    {"no_such_rate", "1920x1080@75", {60, 1}, -1},
    {"59_94_is_not_60", "1920x1080@59.94", {60, 1}, -1},
    {"word", "best", {60, 1}, -2},
    {"no_height", "1920x", {60, 1}, -2},
    {"no_width", "x1080", {60, 1}, -2},
    {"zero", "0x0", {60, 1}, -2},
    {"negative", "-1920x1080", {60, 1}, -2},
    {"blank", "1920 x 1080", {60, 1}, -2},
    {"upper_case", "1920X1080", {60, 1}, -2},
    {"empty_rate", "1920x1080@", {60, 1}, -2},
    {"zero_rate", "1920x1080@0", {60, 1}, -2},
    {"rate_without_digits", "1920x1080@.5", {60, 1}, -2},
    {"rate_that_ends_in_a_point", "1920x1080@60.", {60, 1}, -2},
    {"two_points", "1920x1080@59.9.4", {60, 1}, -2},
    {"unit", "1920x1080@60Hz", {60, 1}, -2},
    {"huge_rate", "1920x1080@99999999999999999999", {60, 1}, -2},
    {"huge_size", "99999999999x1080", {60, 1}, -2},
    {"more_than_16_bits", "65536x1080", {60, 1}, -2},
    {"16_bits", "65535x65535", {60, 1}, -1},
    {"the_highest_rate", "1920x1080@1000", {60, 1}, -1},
    {"more_than_the_highest_rate", "1920x1080@1001", {60, 1}, -2},
    {"trailing_text", "1920x1080@60 ", {60, 1}, -2},
};

class SelectMode : public testing::TestWithParam<RequestRow> {};

TEST_P(SelectMode, finds)
{
  const RequestRow &row = GetParam();
  const auto request = gstdrm::kms::parse_mode_request(row.text);
  if (row.expected == -2) {
    ASSERT_FALSE(request);
    EXPECT_NE(request.error().message.find("mode=" + std::string(row.text)), std::string::npos);
    return;
  }
  ASSERT_TRUE(request) << request.error().message;
  const auto order = order_modes(kTelevision, *request, {640, 480, row.rate});
  EXPECT_EQ(order ? static_cast<int>(order->front()) : -1, row.expected);
  if (!order) { // says which there are
    EXPECT_NE(order.error().message.find("1920x1080i@60.000"), std::string::npos) << order.error().message;
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, SelectMode, testing::ValuesIn(kRequestRows),
                         [](const auto &info) { return std::string(info.param.name); });

// A television lists 40 to 60 modes, and an error message has 400 characters.
TEST(SelectModeOfMany, names_the_nearest)
{
  std::vector<drmModeModeInfo> modes;
  for (std::uint16_t width = 640; width <= 3840; width += 160)
    for (const std::uint32_t clock_khz : {148500U, 74250U, 74176U})
      modes.push_back(mode(clock_khz, width, 2200, static_cast<std::uint16_t>(width * 9 / 16), 1125));
  const struct {
    const char *request, *says;
  } rows[] = {
      {"1234x567", ". The nearest are 1120x630@60.000 1280x720@60.000 960x540@60.000 1440x810@60.000 "},
      {"1280x720@75", ". The nearest are 1280x720@60.000 1280x720@30.000 1280x720@29.970 1440x810@60.000 "},
      {"7680x4320", ". The nearest are 3840x2160@60.000 3680x2070@60.000 "},
  };
  for (const auto &row : rows) {
    const auto order = order_modes(modes, *parse_mode_request(row.request), {640, 480, {60, 1}});
    ASSERT_FALSE(order) << row.request;
    const std::string text = order.error().message;
    EXPECT_NE(text.find(row.says), std::string::npos) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '@'), 6 + (std::string(row.request).find('@') != std::string::npos)) << text;
    EXPECT_LT(text.size(), 300U) << text;
  }
}

TEST(SelectModeOfNone, is_an_error)
{
  EXPECT_FALSE(order_modes({}, {}, {640, 480, {60, 1}}));
}

TEST(ModeRefresh, is_an_exact_fraction)
{
  const Rate dmt = gstdrm::kms::mode_refresh(k1024_60); // 65 MHz over 1344 * 806
  EXPECT_EQ(std::uint64_t{dmt.numerator} * 1344 * 806, std::uint64_t{65000000} * dmt.denominator);
  const Rate exact = gstdrm::kms::mode_refresh(k1080_60);
  EXPECT_EQ(exact.numerator, 60U);
  EXPECT_EQ(exact.denominator, 1U);
  EXPECT_EQ(gstdrm::kms::mode_refresh(k1080i_60).numerator, 60U); // fields
}

TEST(ModeRefresh, period)
{
  EXPECT_EQ(gstdrm::kms::refresh_period_ns(k1080_50), 20'000'000);
  EXPECT_EQ(gstdrm::kms::refresh_period_ns(k1080_60), 16'666'667);
  EXPECT_EQ(gstdrm::kms::refresh_period_ns(drmModeModeInfo{}), 16'666'667); // no clock
}

// As drm_mode_vrefresh() of drm_modes.c: each line twice, or vscan times, takes as many times as long.
TEST(ModeRefresh, lines_that_are_repeated)
{
  drmModeModeInfo m = mode(148500, 1920, 2200, 540, 562 + 563, DRM_MODE_FLAG_DBLSCAN);
  EXPECT_EQ(gstdrm::kms::mode_refresh(m).numerator, 30U);
  EXPECT_EQ(gstdrm::kms::mode_refresh(m).denominator, 1U);
  m.flags = 0;
  const std::uint32_t refresh[] = {60, 60, 30, 20};
  for (std::uint16_t vscan = 0; vscan < 4; vscan++) {
    m.vscan = vscan;
    EXPECT_EQ(gstdrm::kms::mode_refresh(m).numerator, refresh[vscan]) << vscan;
  }
}

TEST(ModeRefresh, without_totals_there_is_none)
{
  for (const drmModeModeInfo &m : {mode(65000, 1024, 0, 768, 806), mode(65000, 1024, 1344, 768, 0),
                                   mode(0, 1024, 1344, 768, 806)}) {
    EXPECT_EQ(gstdrm::kms::mode_refresh(m).numerator, 0U);
    EXPECT_EQ(gstdrm::kms::mode_refresh(m).denominator, 1U);
    EXPECT_EQ(gstdrm::kms::refresh_period_ns(m), 16'666'667);
  }
}

// GStreamer's fractions have 31 bits: what has more is rounded, in both parts.
TEST(ModeRefresh, slow_modes_fit_a_fraction)
{
  drmModeModeInfo m = mode(1'000'000, 100, 65533, 100, 65531, DRM_MODE_FLAG_DBLSCAN);
  m.vscan = 2;
  const Rate rate = gstdrm::kms::mode_refresh(m);
  EXPECT_LE(rate.denominator, std::uint32_t{INT32_MAX});
  EXPECT_NEAR(static_cast<double>(rate.numerator) / rate.denominator, 1e9 / 65533 / 65531 / 4, 1e-6);
}

TEST(ModeRefresh, extremes_do_not_overflow)
{
  const drmModeModeInfo huge = mode(~0U, 65535, 65535, 65535, 65535);
  EXPECT_GT(gstdrm::kms::mode_refresh(huge).denominator, 0U);
  EXPECT_GT(gstdrm::kms::refresh_period_ns(huge), 0);
  EXPECT_FALSE(gstdrm::kms::describe_mode(huge).empty());
}

drmModeModeInfo shaped(std::uint16_t w, std::uint16_t h, std::uint32_t flags, std::uint32_t type = 0)
{
  return mode(27000, w, static_cast<std::uint16_t>(w + 144), h, static_cast<std::uint16_t>(h + 49), flags, type);
}

struct AspectRow {
  const char *name;
  drmModeModeInfo mode;
  std::uint32_t width_mm, height_mm;
  double expected;
};

// CTA-861-G: 720x576 has pixels of 16:15 or 64:45, 720x480 of 8:9 or 32:27.
const AspectRow kAspectRows[] = {
    {"nothing is said", shaped(1920, 1080, 0), 0, 0, 1},
    {"pal told 4:3", shaped(720, 576, DRM_MODE_FLAG_PIC_AR_4_3), 0, 0, 16.0 / 15},
    {"pal told 16:9", shaped(720, 576, DRM_MODE_FLAG_PIC_AR_16_9), 0, 0, 64.0 / 45},
    {"pal told 4:3 on a wide screen", shaped(720, 576, DRM_MODE_FLAG_PIC_AR_4_3), 1600, 900, 16.0 / 15},
    {"ntsc told 16:9", shaped(720, 480, DRM_MODE_FLAG_PIC_AR_16_9), 0, 0, 32.0 / 27},
    {"1440 pixels of pal", shaped(1440, 576, DRM_MODE_FLAG_PIC_AR_16_9), 0, 0, 32.0 / 45},
    {"1080p told 16:9", shaped(1920, 1080, DRM_MODE_FLAG_PIC_AR_16_9), 530, 500, 1},
    {"720p told 64:27", shaped(1280, 720, DRM_MODE_FLAG_PIC_AR_64_27), 0, 0, 4.0 / 3},
    {"cinema", shaped(4096, 2160, DRM_MODE_FLAG_PIC_AR_256_135), 0, 0, 1},
    {"pal on a wide screen", shaped(720, 576, 0), 1600, 900, 64.0 / 45},
    {"pal on a screen given as 16x9", shaped(720, 576, 0), 16, 9, 64.0 / 45},
    {"pal on an old screen", shaped(720, 576, 0), 400, 300, 16.0 / 15},
    {"pal on a screen that stands", shaped(720, 576, 0), 300, 400, 1},
    {"pal on a screen of nobody knows what", shaped(720, 576, 0), 0, 0, 1},
    {"a small panel of 20x10 cm", shaped(800, 480, 0, DRM_MODE_TYPE_PREFERRED), 200, 100, 1},
    {"rounded to centimetres", shaped(1920, 1080, 0, DRM_MODE_TYPE_PREFERRED), 160, 90 - 5, 1},
    {"a plasma television", shaped(1024, 768, 0, DRM_MODE_TYPE_PREFERRED), 930, 520, 930.0 / 520 * 768 / 1024},
    {"a plasma television of 1024x1024", shaped(1024, 1024, 0, DRM_MODE_TYPE_PREFERRED), 920, 518, 920.0 / 518},
    {"a plasma television of 1280x1080", shaped(1280, 1080, 0, DRM_MODE_TYPE_PREFERRED), 1106, 622, 1106.0 / 622 * 1080 / 1280},
    {"1024x768 given as 16x9", shaped(1024, 768, 0, DRM_MODE_TYPE_PREFERRED), 160, 90, 1},
    {"1024x768 given as 160x90", shaped(1024, 768, 0, DRM_MODE_TYPE_PREFERRED), 1600, 900, 1},
    {"800x600 given as 16x9", shaped(800, 600, 0, DRM_MODE_TYPE_PREFERRED), 160, 90, 1},
    {"5:4 with the size of a 16:9 panel", shaped(1280, 1024, 0, DRM_MODE_TYPE_PREFERRED), 344, 193, 1},
    {"5:4 with the size of a 16:9 television", shaped(1280, 1024, 0, DRM_MODE_TYPE_PREFERRED), 708, 398, 1},
    {"4:3 with the size of a 16:9 monitor", shaped(1024, 768, 0, DRM_MODE_TYPE_PREFERRED), 531, 299, 1},
    {"800x480 in whole centimetres", shaped(800, 480, 0, DRM_MODE_TYPE_PREFERRED), 150, 100, 1},
    {"a low bar of 22x6 cm", shaped(1920, 480, 0, DRM_MODE_TYPE_PREFERRED), 220, 60, 1},
    {"a bar with the size of a 16:9 panel", shaped(1280, 400, 0, DRM_MODE_TYPE_PREFERRED), 344, 193, 1},
    {"a laptop with the size of another panel", shaped(2240, 1400, 0, DRM_MODE_TYPE_PREFERRED), 610, 350, 1},
    {"a handheld that stands", shaped(1080, 1920, 0, DRM_MODE_TYPE_PREFERRED), 70, 130, 1},
    {"a small panel of 5x3 cm", shaped(320, 240, 0, DRM_MODE_TYPE_PREFERRED), 50, 30, 1},
    {"nonsense", shaped(1920, 1080, 0, DRM_MODE_TYPE_PREFERRED), 1000, 100, 1},
    {"not the panel's mode", shaped(800, 600, 0), 200, 100, 1},
};

class Aspects : public testing::TestWithParam<AspectRow> {};

TEST_P(Aspects, of_pixels)
{
  const AspectRow &row = GetParam();
  EXPECT_NEAR(pixel_aspect(row.mode, {row.width_mm, row.height_mm}), row.expected, 1e-9) << row.name;
}

INSTANTIATE_TEST_SUITE_P(Rows, Aspects, testing::ValuesIn(kAspectRows));

// The kernel lists a timing once for each shape that it is known in.
TEST(OrderModes, takes_the_shape_of_the_picture)
{
  const std::vector<drmModeModeInfo> modes = {shaped(720, 576, DRM_MODE_FLAG_PIC_AR_4_3),
                                              shaped(720, 576, DRM_MODE_FLAG_PIC_AR_16_9)};
  const std::vector<drmModeModeInfo> cinema = {shaped(1280, 720, DRM_MODE_FLAG_PIC_AR_64_27),
                                               shaped(1280, 720, DRM_MODE_FLAG_PIC_AR_16_9)};
  EXPECT_EQ(first_of(modes, kMatch, {720, 576, {50, 1}, 4.0 / 3}), 0);
  EXPECT_EQ(first_of(modes, kMatch, {720, 576, {50, 1}, 16.0 / 9}), 1);
  EXPECT_EQ(first_of(cinema, kMatch, {1280, 720, {50, 1}, 16.0 / 9}), 1);
  EXPECT_EQ(first_of(cinema, kMatch, {1280, 720, {50, 1}}), 1);
  EXPECT_EQ(first_of(cinema, kMatch, {1280, 720, {50, 1}, 64.0 / 27}), 0);
  for (const char *text : {"720x576", "720x576@50"}) {
    const auto request = parse_mode_request(text);
    ASSERT_TRUE(request);
    EXPECT_EQ(first_of(modes, *request, {720, 576, {}, 16.0 / 9}), 1) << text;
    EXPECT_EQ(first_of(modes, *request, {720, 576, {}, 4.0 / 3}), 0) << text;
  }
}

} // namespace
