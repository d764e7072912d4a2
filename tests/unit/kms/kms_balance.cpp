// SPDX-License-Identifier: LGPL-2.1-or-later
// Brightness, contrast, saturation and hue as properties of planes or of the CRTC. On the fake
// libdrm.
#include <string>
#include <vector>

#include <xf86drmMode.h>

#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

constexpr std::size_t kBrightness = 0, kContrast = 1, kHue = 3;

class BalanceTest : public DisplayTest {
protected:
  static void set(Display &display, std::size_t kind, std::int32_t value)
  {
    View view;
    view.balance[kind] = value;
    display.set_view(view);
  }
  void play(Display &display)
  {
    const auto shown = show(display, xrgb(memory, 640, 480));
    ASSERT_TRUE(shown) << shown.error().message;
    ASSERT_EQ(*shown, Shown::Yes);
    ASSERT_TRUE(display.drain(kLong_ns));
  }
  static const fakedrm::Commit &last() { return fakedrm::device().commits.back(); }
};

TEST_F(BalanceTest, nothing_is_offered_where_there_is_nothing)
{
  const auto display = open();
  ASSERT_TRUE(display);
  EXPECT_TRUE((*display)->balance_channels().empty());
}

TEST_F(BalanceTest, a_value_is_set_on_the_plane_and_comes_back)
{
  fakedrm::device().plane_balance = true;
  auto display = open();
  ASSERT_TRUE(display) << display.error().message;
  const std::vector<BalanceChannel> wanted = {{BalanceKind::Brightness, 0, 100, 50},
                                              {BalanceKind::Hue, -180, 180, 0}};
  EXPECT_EQ((*display)->balance_channels(), wanted);
  ASSERT_TRUE((*display)->start() && (*display)->configure(picture(640, 480)));
  play(**display);
  EXPECT_EQ(last().values.count({fakedrm::kPrimary, "brightness"}), 0U); // nobody has set it
  set(**display, kBrightness, 80);
  play(**display);
  EXPECT_EQ(value(last(), fakedrm::kPrimary, "brightness"), 80U);
  EXPECT_EQ(last().flags & DRM_MODE_ATOMIC_ALLOW_MODESET, 0U);
  EXPECT_EQ(last().values.count({fakedrm::kPrimary, "hue"}), 0U);
  play(**display);
  EXPECT_EQ(last().values.size(), 1U); // a flip is a flip
  set(**display, kHue, -90);
  play(**display);
  EXPECT_EQ(static_cast<std::int64_t>(value(last(), fakedrm::kPrimary, "hue")), -90);
  ASSERT_TRUE((*display)->stop());
  EXPECT_EQ(value(last(), fakedrm::kPrimary, "brightness"), 50U);
  EXPECT_EQ(value(last(), fakedrm::kPrimary, "hue"), 0U);
}

TEST_F(BalanceTest, a_value_from_before_begins_with_the_mode_set_and_stays_in_range)
{
  fakedrm::device().plane_balance = true;
  auto display = open();
  set(**display, kBrightness, 1000);
  ASSERT_TRUE((*display)->start() && (*display)->configure(picture(640, 480)));
  play(**display);
  EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "brightness"), 100U);
}

// The planes come first where both have it.
TEST_F(BalanceTest, the_crtc_has_what_the_planes_have_not)
{
  fakedrm::device().plane_balance = fakedrm::device().crtc_balance = true;
  auto display = open();
  const std::vector<BalanceChannel> wanted = {{BalanceKind::Brightness, 0, 100, 50},
                                              {BalanceKind::Contrast, 0, 100, 70},
                                              {BalanceKind::Hue, -180, 180, 0}};
  EXPECT_EQ((*display)->balance_channels(), wanted);
  set(**display, kContrast, 20);
  ASSERT_TRUE((*display)->start() && (*display)->configure(picture(640, 480)));
  play(**display);
  EXPECT_EQ(value(commit(0), fakedrm::kCrtc, "contrast"), 20U);
  ASSERT_TRUE((*display)->stop());
  EXPECT_EQ(value(last(), fakedrm::kCrtc, "contrast"), 70U);
}

// All but the plane is the other program's.
TEST_F(BalanceTest, the_crtc_of_another_program_is_left_alone)
{
  fakedrm::device().crtc_balance = true;
  {
    const auto display = open();
    EXPECT_EQ((*display)->balance_channels().size(), 2U);
  }
  fakedrm::Device &d = fakedrm::device();
  d.found[{fakedrm::kCrtc, "ACTIVE"}] = 1;
  d.found[{fakedrm::kCrtc, "MODE_ID"}] = 600;
  d.found[{fakedrm::kConnector, "CRTC_ID"}] = fakedrm::kCrtc;
  const drmModeModeInfo mode{25175, 640, 656, 752, 800, 0, 480, 490, 492, 525, 0, 60, 0, 0, "b"};
  const auto *bytes = reinterpret_cast<const std::uint8_t *>(&mode);
  d.foreign_blobs[600].assign(bytes, bytes + sizeof(mode));
  DeviceRequest device;
  device.fd = drm_fd.get();
  OutputRequest output;
  output.mode.kind = ModeRequest::Kind::Current;
  const auto joined = Display::open(device, output, listener);
  ASSERT_TRUE(joined) << joined.error().message;
  EXPECT_TRUE((*joined)->balance_channels().empty());
}

} // namespace
