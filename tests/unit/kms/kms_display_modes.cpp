// SPDX-License-Identifier: LGPL-2.1-or-later
// When a stream that changes its size gets another mode.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

using Size = std::pair<std::uint32_t, std::uint32_t>;

struct ModeRow {
  const char *name;
  ModeChanges changes;
  bool scales;
  Fit fit;
  std::vector<Size> modes; // after each picture of kSteps
  std::size_t mode_sets;
};

const std::vector<Size> kSteps = {{640, 480}, {1024, 768}, {320, 240}, {640, 480}};
constexpr Size kSmall{640, 480}, kLarge{1024, 768}; // the fake display's

const ModeRow kModeRows[] = {
    {"auto_scaled", ModeChanges::Auto, true, Fit::Contain, {kSmall, kSmall, kSmall, kSmall}, 1},
    {"auto_filled", ModeChanges::Auto, true, Fit::Fill, {kSmall, kSmall, kSmall, kSmall}, 1},
    {"auto_not_scaled",
     ModeChanges::Auto,
     false,
     Fit::Contain,
     {kSmall, kLarge, kSmall, kSmall},
     3},
    {"auto_pixel_for_pixel",
     ModeChanges::Auto,
     true,
     Fit::None,
     {kSmall, kLarge, kSmall, kSmall},
     3},
    {"always", ModeChanges::Always, true, Fit::Contain, {kSmall, kLarge, kSmall, kSmall}, 3},
    {"start", ModeChanges::Start, true, Fit::Contain, {kSmall, kSmall, kSmall, kSmall}, 1},
    {"never_on_a_dark_display",
     ModeChanges::Never,
     true,
     Fit::Contain,
     {kSmall, kSmall, kSmall, kSmall},
     1},
};

class ModeTest : public DisplayTest {
protected:
  Result<std::shared_ptr<Display>> open_with(ModeChanges changes)
  {
    DeviceRequest device;
    device.fd = drm_fd.get();
    OutputRequest output;
    output.mode_changes = changes;
    return Display::open(device, output, listener);
  }
  static Size mode_set_last()
  {
    const auto &commits = fakedrm::device().commits;
    const auto last = std::find_if(commits.rbegin(), commits.rend(), [](const fakedrm::Commit &c) {
      return (c.flags & DRM_MODE_ATOMIC_ALLOW_MODESET) != 0;
    });
    const auto id = static_cast<std::uint32_t>(last->values.at({fakedrm::kCrtc, "MODE_ID"}));
    drmModeModeInfo mode{};
    std::memcpy(&mode, fakedrm::device().old_blobs.at(id).data(), sizeof(mode));
    return {mode.hdisplay, mode.vdisplay};
  }
  static std::size_t mode_sets()
  {
    const auto &commits = fakedrm::device().commits;
    return static_cast<std::size_t>(
        std::count_if(commits.begin(), commits.end(), [](const fakedrm::Commit &c) {
          return (c.flags & DRM_MODE_ATOMIC_ALLOW_MODESET) != 0;
        }));
  }
};

class ModeRows : public ModeTest, public testing::WithParamInterface<ModeRow> {};

TEST_P(ModeRows, of_an_adaptive_stream)
{
  const ModeRow &row = GetParam();
  fakedrm::device().scales = row.scales;
  const auto display = open_with(row.changes);
  ASSERT_TRUE(display && (*display)->start());
  View view;
  view.fit = row.fit;
  (*display)->set_view(view);
  for (std::size_t i = 0; i < kSteps.size(); i++) {
    const auto [width, height] = kSteps[i];
    ASSERT_TRUE((*display)->configure(picture(width, height))) << i;
    const auto shown = show(**display, xrgb(memory, width, height));
    ASSERT_TRUE(shown && *shown == Shown::Yes) << i;
    ASSERT_TRUE((*display)->drain(kLong_ns));
    EXPECT_EQ(mode_set_last(), row.modes[i]) << i;
  }
  EXPECT_EQ(mode_sets(), row.mode_sets);
}

INSTANTIATE_TEST_SUITE_P(Rows, ModeRows, testing::ValuesIn(kModeRows),
                         [](const auto &info) { return std::string(info.param.name); });

// Nor a stream that changes its rate: a plane shows the picture in the mode on screen.
TEST_F(ModeTest, another_rate_is_no_reason_for_a_mode_set)
{
  fakedrm::device().scales = true;
  fakedrm::device().slow_mode = true;
  const auto display = open_with(ModeChanges::Auto);
  ASSERT_TRUE(display && (*display)->start());
  for (const unsigned fps : {24U, 60U, 25U, 50U, 60U}) {
    Picture step = picture(640, 480);
    step.rate = {fps, 1};
    ASSERT_TRUE((*display)->configure(step));
    ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)) && (*display)->drain(kLong_ns));
  }
  EXPECT_EQ(mode_sets(), 1U);
}

TEST_F(ModeTest, the_first_one_alone_refuses_what_it_cannot_hold)
{
  const auto display = open_with(ModeChanges::Start);
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)) && (*display)->drain(kLong_ns));
  const Result<void> larger = (*display)->configure(picture(1024, 768));
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().code, ErrorCode::Caps);
  EXPECT_NE(larger.error().message.find("mode-changes=auto"), std::string::npos)
      << larger.error().message;
  // after a stop, the next picture is the first one again
  ASSERT_TRUE((*display)->stop() && (*display)->start() &&
              (*display)->configure(picture(1024, 768)));
}

// Another program has lit the display.
void light_display(std::uint16_t width, std::uint16_t height)
{
  const drmModeModeInfo found{65000, width, static_cast<std::uint16_t>(width + 24), static_cast<std::uint16_t>(width + 160), static_cast<std::uint16_t>(width + 320), 0, height, static_cast<std::uint16_t>(height + 3), static_cast<std::uint16_t>(height + 9), static_cast<std::uint16_t>(height + 38), 0, 60, 0, 0, "found"};
  std::vector<std::uint8_t> bytes(sizeof(found));
  std::memcpy(bytes.data(), &found, sizeof(found));
  fakedrm::device().foreign_blobs = {{900, bytes}};
  fakedrm::device().found = {{{fakedrm::kCrtc, "ACTIVE"}, 1},
                             {{fakedrm::kCrtc, "MODE_ID"}, 900},
                             {{fakedrm::kConnector, "CRTC_ID"}, fakedrm::kCrtc}};
}

// Where the user does not ask for a mode.
struct AloneRow {
  const char *name;
  Size lit; // 0x0: dark
  bool scales;
  std::uint16_t refused_mode_width;
  Size picture, mode;
  Rectangle destination;
  int refused_error = EINVAL;
};

const AloneRow kAloneRows[] = {
    {"lit_and_centred", kLarge, false, 0, {640, 480}, kLarge, {192, 144, 640, 480}},
    {"lit_and_scaled", kLarge, true, 0, {640, 480}, kLarge, {0, 0, 1024, 768}},
    {"lit_in_a_mode_that_is_not_listed", {800, 600}, false, 0, {640, 480}, {800, 600}, {80, 60, 640, 480}},
    {"larger_and_scaled", kSmall, true, 0, {1024, 768}, kSmall, {0, 0, 640, 480}},
    {"larger_and_not_scaled", kSmall, false, 0, {1024, 768}, kLarge, {0, 0, 1024, 768}},
    {"dark_gets_the_display_s_own", {0, 0}, false, 0, {640, 480}, kLarge, {192, 144, 640, 480}},
    {"its_own_is_refused", {0, 0}, false, 1024, {640, 480}, kSmall, {0, 0, 640, 480}},
    {"there_is_no_memory_for_its_own", {0, 0}, false, 1024, {640, 480}, kSmall, {0, 0, 640, 480}, ENOMEM},
    {"its_own_fails", {0, 0}, false, 1024, {640, 480}, kSmall, {0, 0, 640, 480}, EIO},
    {"its_own_times_out", {0, 0}, false, 1024, {640, 480}, kSmall, {0, 0, 640, 480}, ETIMEDOUT},
    {"its_own_is_refused_and_a_plane_scales", {0, 0}, true, 1024, {320, 240}, kSmall, {0, 0, 640, 480}},
};

class LeftAlone : public ModeTest, public testing::WithParamInterface<AloneRow> {};

TEST_P(LeftAlone, without_a_request)
{
  const AloneRow &row = GetParam();
  fakedrm::device().scales = row.scales;
  fakedrm::device().refused_mode_width = row.refused_mode_width;
  fakedrm::device().refused_mode_error = row.refused_error;
  if (row.lit.first != 0)
    light_display(static_cast<std::uint16_t>(row.lit.first), static_cast<std::uint16_t>(row.lit.second));
  for (const std::uint32_t plane : {fakedrm::kPrimary, fakedrm::kOverlay}) // none is left to join with
    fakedrm::device().plane_users[plane] = fakedrm::kCrtc;
  DeviceRequest device;
  device.fd = drm_fd.get();
  OutputRequest output;
  output.mode.kind = ModeRequest::Kind::Auto;
  const auto display = Display::open(device, output, listener);
  ASSERT_TRUE(display) << display.error().message;
  ASSERT_TRUE((*display)->start());
  const auto [width, height] = row.picture;
  ASSERT_TRUE((*display)->configure(picture(width, height)));
  const auto shown = show(**display, xrgb(memory, width, height));
  ASSERT_TRUE(shown && *shown == Shown::Yes);
  ASSERT_TRUE((*display)->drain(kLong_ns));
  EXPECT_EQ(mode_set_last(), row.mode);
  const fakedrm::Commit &last = fakedrm::device().commits.back();
  EXPECT_EQ(value(last, fakedrm::kPrimary, "CRTC_X"), static_cast<std::uint64_t>(row.destination.x));
  EXPECT_EQ(value(last, fakedrm::kPrimary, "CRTC_Y"), static_cast<std::uint64_t>(row.destination.y));
  EXPECT_EQ(value(last, fakedrm::kPrimary, "CRTC_W"), row.destination.width);
  EXPECT_EQ(value(last, fakedrm::kPrimary, "CRTC_H"), row.destination.height);
}

INSTANTIATE_TEST_SUITE_P(Rows, LeftAlone, testing::ValuesIn(kAloneRows),
                         [](const auto &info) { return std::string(info.param.name); });

// A larger mode would not do better than one that fails, and the error is the device's.
TEST_F(ModeTest, one_that_fails_is_followed_by_smaller_ones_alone)
{
  fakedrm::device().refused_mode_width = 640;
  fakedrm::device().refused_mode_error = EIO;
  const auto display = open_with(ModeChanges::Auto);
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  const auto shown = show(**display, xrgb(memory, 640, 480));
  ASSERT_FALSE(shown);
  EXPECT_EQ(shown.error().code, ErrorCode::Device);
  EXPECT_EQ(shown.error().sys_errno, EIO);
  EXPECT_EQ(mode_sets(), 0U);
}

// mode=640x480, planes that do not scale: a larger picture is refused, and not cropped.
TEST_F(ModeTest, a_named_mode_limits_the_sizes)
{
  DeviceRequest device;
  device.fd = drm_fd.get();
  OutputRequest output;
  output.mode = *parse_mode_request("640x480");
  const auto display = Display::open(device, output, listener);
  ASSERT_TRUE(display && (*display)->start());
  EXPECT_EQ((*display)->limits().max_width, 640U);
  EXPECT_EQ((*display)->limits().max_height, 480U);
  const Result<void> larger = (*display)->configure(picture(1024, 768));
  ASSERT_FALSE(larger);
  EXPECT_NE(larger.error().message.find("1024x768 is larger than the mode that mode names (640x480"), std::string::npos)
      << larger.error().message;
}

// The mode that another program set stays, also for a picture that another mode fits.
TEST_F(ModeTest, never_keeps_what_the_display_has)
{
  light_display(1024, 768);
  const auto display = open_with(ModeChanges::Never);
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  EXPECT_EQ((*display)->limits().max_width, 1024U);
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)) && (*display)->drain(kLong_ns));
  EXPECT_EQ(mode_set_last(), kLarge);
  EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "CRTC_X"), 192U); // in the middle, not scaled
}

} // namespace
