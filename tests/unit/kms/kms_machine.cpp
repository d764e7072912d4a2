// SPDX-License-Identifier: LGPL-2.1-or-later
// The display of a saved machine (tests/data/inspect/board.json): what a user's board scans out is what
// the engine offers, and a frame is committed with its modifier.
#include <cstdlib>
#include <string>
#include <vector>

#include "fake_machine.hpp"
#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

constexpr std::uint64_t kXTiled = I915_FORMAT_MOD_X_TILED;
constexpr std::uint64_t kYTiled = I915_FORMAT_MOD_Y_TILED;

class MachineTest : public DisplayTest {
protected:
  void SetUp() override
  {
    const char *data = std::getenv("GST_DRM_TEST_DATA");
    ASSERT_NE(data, nullptr);
    std::string error;
    ASSERT_TRUE(read_saved_machine(std::string(data) + "/inspect/board.json", machine, error))
        << error;
  }

  std::vector<SavedSource> machine;
};

TEST_F(MachineTest, offers_what_the_boards_planes_scan_out)
{
  ASSERT_TRUE(fakedrm::play_machine(machine, "card0"));
  const auto display = open();
  ASSERT_TRUE(display) << display.error().message;
  FormatSet wanted;
  for (const Format format : {Format{DRM_FORMAT_XRGB8888, kXTiled}, Format{DRM_FORMAT_XRGB8888, kModLinear}})
    wanted.add(format);
  const FormatSet offered = (*display)->formats();
  for (const Format &format : wanted.pairs())
    EXPECT_TRUE(offered.contains(format));
  for (const Format &format : offered.pairs()) // the overlay's pairs may be offered, and no others
    EXPECT_TRUE(wanted.contains(format) || format == (Format{DRM_FORMAT_NV12, kYTiled}) ||
                format == (Format{DRM_FORMAT_XRGB8888, kYTiled}))
        << std::hex << format.fourcc << ":" << format.modifier;
  EXPECT_FALSE(offered.contains({DRM_FORMAT_NV12, kModLinear}));
}

TEST_F(MachineTest, a_tiled_frame_is_shown_with_its_modifier)
{
  ASSERT_TRUE(fakedrm::play_machine(machine, "card0"));
  const auto display = open();
  Picture tiled = picture(1024, 768);
  tiled.format.modifier = kXTiled;
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(tiled))
      << display.error().message;
  FrameLayout layout = xrgb(memory, 1024, 768);
  layout.format.modifier = kXTiled;
  ASSERT_TRUE((*display)->import(layout));
  const std::vector<std::uint64_t> named = fakedrm::device().plane_modifiers;
  ASSERT_TRUE(show(**display, layout));
  EXPECT_TRUE((*display)->drain(kLong_ns));
  EXPECT_EQ(named, std::vector<std::uint64_t>{kXTiled});
  ASSERT_FALSE(fakedrm::device().commits.empty());
  ASSERT_TRUE((*display)->stop());
}

TEST_F(MachineTest, a_display_without_modifiers)
{
  ASSERT_TRUE(fakedrm::play_machine(machine, "card1"));
  const auto display = open();
  ASSERT_TRUE(display) << display.error().message;
  EXPECT_FALSE((*display)->formats().contains({DRM_FORMAT_XRGB8888, kXTiled}));
}

TEST_F(MachineTest, a_card_that_is_not_there)
{
  EXPECT_FALSE(fakedrm::play_machine(machine, "card7"));
}

} // namespace
