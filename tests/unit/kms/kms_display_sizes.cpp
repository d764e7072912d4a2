// SPDX-License-Identifier: LGPL-2.1-or-later
// The engine against a fake libdrm: pictures at the edge of what sizes and rates there are. Each is shown within its mode and its own
// pixels, or refused with an error; no number overflows (UBSan).
#include <initializer_list>
#include <utility>

#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

constexpr std::pair<std::uint32_t, std::uint32_t> kSizes[] = {
    {1, 1},       {1, 2},        {2, 1},        {1, 768},      {1024, 1},     {1, 8192},      {8192, 1},
    {3, 3},       {641, 481},    {1023, 767},   {1025, 769},   {7680, 4320},  {8192, 8192},   {8193, 8192},
    {15360, 8640}, {16384, 16384}, {16384, 1},  {1, 16384},
};

constexpr Rate kRates[] = {{0, 1}, {0, 0}, {1, 0}, {1, 2147483647}, {60, 1}, {1000000, 1}, {2147483647, 1}, {2147483647, 2147483646}};

void expect_within(const fakedrm::Commit &commit, const Picture &p)
{
  for (const std::uint32_t plane : {fakedrm::kPrimary, fakedrm::kOverlay}) {
    const auto of = [&](const char *name) {
      const auto it = commit.values.find({plane, name});
      return it == commit.values.end() ? std::uint64_t{0} : it->second;
    };
    if (of("FB_ID") == 0)
      continue;
    const auto x = static_cast<std::int64_t>(of("CRTC_X")), y = static_cast<std::int64_t>(of("CRTC_Y"));
    EXPECT_GE(x, 0);
    EXPECT_GE(y, 0);
    EXPECT_GE(of("CRTC_W"), 1U);
    EXPECT_GE(of("CRTC_H"), 1U);
    EXPECT_LE(static_cast<std::uint64_t>(x) + of("CRTC_W"), 1024U);
    EXPECT_LE(static_cast<std::uint64_t>(y) + of("CRTC_H"), 768U);
    EXPECT_GE(of("SRC_W"), 1U << 16);
    EXPECT_GE(of("SRC_H"), 1U << 16);
    EXPECT_LE(of("SRC_X") + of("SRC_W"), std::uint64_t{p.width} << 16);
    EXPECT_LE(of("SRC_Y") + of("SRC_H"), std::uint64_t{p.height} << 16);
  }
}

struct SizeRow {
  const char *name;
  Fit fit;
  bool scales;
};

class Sizes : public DisplayTest, public testing::WithParamInterface<SizeRow> {};

TEST_P(Sizes, are_shown_within_the_mode_or_refused)
{
  fakedrm::device().scales = GetParam().scales;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start());
  View view;
  view.fit = GetParam().fit;
  (*display)->set_view(view);
  int shown = 0, refused = 0;
  for (const auto &[width, height] : kSizes) {
    SCOPED_TRACE(std::to_string(width) + "x" + std::to_string(height));
    const Picture p = picture(width, height);
    const SizeLimits limits = (*display)->limits();
    const bool offered = width >= limits.min_width && width <= limits.max_width && height >= limits.min_height &&
                         height <= limits.max_height;
    const Result<void> configured = (*display)->configure(p);
    EXPECT_EQ(static_cast<bool>(configured), offered);
    if (!configured) {
      EXPECT_FALSE(configured.error().message.empty());
      refused++;
      continue;
    }
    const Memory pixels(std::uint64_t{4} * width * height);
    const auto result = show(**display, xrgb(pixels, width, height));
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_TRUE((*display)->drain(kLong_ns));
    expect_within(fakedrm::device().commits.back(), p);
    shown++;
  }
  EXPECT_GE(shown, GetParam().scales ? 5 : 2);
  EXPECT_GT(refused, 4);
}

constexpr SizeRow kSizeRows[] = {
    {"contain", Fit::Contain, true}, {"cover", Fit::Cover, true},          {"fill", Fit::Fill, true},
    {"none", Fit::None, true},       {"contain_unscaled", Fit::Contain, false}, {"cover_unscaled", Fit::Cover, false},
};

INSTANTIATE_TEST_SUITE_P(Rows, Sizes, testing::ValuesIn(kSizeRows),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_F(DisplayTest, every_rate_is_one)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start());
  for (const Rate &rate : kRates) {
    SCOPED_TRACE(std::to_string(rate.numerator) + "/" + std::to_string(rate.denominator));
    Picture p = picture(1024, 768);
    p.rate = rate;
    ASSERT_TRUE((*display)->configure(p));
    for (int i = 0; i < 2; i++) {
      const auto result = show(**display, xrgb(memory, 1024, 768));
      ASSERT_TRUE(result) << result.error().message;
    }
    (*display)->move_cursor(1, 2); // is put off by a frame time
    ASSERT_TRUE((*display)->drain(kLong_ns));
  }
}

} // namespace
