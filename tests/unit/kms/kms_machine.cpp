// SPDX-License-Identifier: LGPL-2.1-or-later
// The displays of saved machines (tests/data/inspect): what a user's board scans out is what the
// engine offers, and a frame is committed with its modifier.
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "fake_model.hpp"
#include "kms_display_fixture.hpp"
#include "support/machine_facts.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

constexpr std::uint64_t kXTiled = I915_FORMAT_MOD_X_TILED;

std::vector<SavedSource> saved(const std::string &file)
{
  const char *data = std::getenv("GST_DRM_TEST_DATA");
  std::vector<SavedSource> machine;
  std::string error;
  EXPECT_TRUE(data && read_saved_machine(std::string(data) + "/inspect/" + file, machine, error))
      << error;
  return machine;
}

class MachineTest : public DisplayTest {
protected:
  // Gives the fake libdrm the planes of a card.
  void play(const std::vector<SavedSource> &machine, const std::string &card)
  {
    const std::vector<std::string> facts = facts_of_card(machine, card);
    std::string error;
    replug();
    fakedrm::device().model =
        fakedrm::make_model(std::vector<std::string_view>(facts.begin(), facts.end()), error);
    ASSERT_TRUE(fakedrm::device().model) << error;
  }
};

TEST_F(MachineTest, offers_what_the_boards_planes_scan_out)
{
  for (const auto &[file, card] : {std::pair("board.json", "card0"),   // tiled, primary and overlay
                                   std::pair("machine.json", "card0"), // tiled, primary and cursor
                                   std::pair("machine.json", "card1")}) { // without modifiers
    SCOPED_TRACE(std::string(file) + " " + card);
    const std::vector<SavedSource> planes = planes_of_card(saved(file), card);
    ASSERT_FALSE(planes.empty());
    ASSERT_NO_FATAL_FAILURE(play(planes, card));
    const auto display = open();
    ASSERT_TRUE(display) << display.error().message;
    const FormatSet offered = (*display)->formats();
    for (const Format &format : planes[0].formats)
      EXPECT_TRUE(offered.contains(format)) << std::hex << format.fourcc << ":" << format.modifier;
    FormatSet all; // the overlay's pairs may be offered, and no others
    for (const SavedSource &plane : planes)
      for (const Format &format : plane.formats)
        if (plane.description != "cursor plane")
          all.add(format);
    for (const Format &format : offered.pairs())
      EXPECT_TRUE(all.contains(format)) << std::hex << format.fourcc << ":" << format.modifier;
    EXPECT_FALSE(offered.contains({DRM_FORMAT_NV12, kModLinear}));
  }
}

TEST_F(MachineTest, a_tiled_frame_is_shown_with_its_modifier)
{
  ASSERT_NO_FATAL_FAILURE(play(saved("board.json"), "card0"));
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

TEST(MachineFacts, what_they_cannot_say)
{
  std::vector<SavedSource> machine = saved("board.json");
  EXPECT_NO_THROW((void)facts_of_card(machine, "card0"));
  EXPECT_THROW((void)facts_of_card(machine, "card7"), std::exception);
  machine[0].formats.push_back({DRM_FORMAT_R8, 0}); // "R8  "
  EXPECT_THROW((void)facts_of_card(machine, "card0"), std::exception);
  machine[0].formats.back() = {DRM_FORMAT_NV12, kModImplicit};
  EXPECT_THROW((void)facts_of_card(machine, "card0"), std::exception);
}

} // namespace
