// SPDX-License-Identifier: LGPL-2.1-or-later
// The test driver's profiles of real drivers: each is made of settings that it knows.
#include <cstdlib>
#include <string>
#include <vector>

#include <drm_fourcc.h>
#include <gtest/gtest.h>
#include <va/va.h>

#include "va-driver/profiles.hpp"
#include "va-driver/settings.hpp"

namespace {

using namespace gstdrm::test::vadriver;

TEST(Profiles, EachIsUnderstoodAndHasItsSources)
{
  for (const auto &profile : all_profiles()) {
    Settings settings;
    std::string error;
    EXPECT_TRUE(parse_settings("profile=" + std::string(profile.name), settings, error)) << error;
    EXPECT_EQ(settings.profile, profile.name);
    EXPECT_FALSE(settings.vendor.empty());
    EXPECT_FALSE(profile.driver.empty() || profile.root.empty());
    for (const auto &fact : profile.facts)
      EXPECT_FALSE(fact.what.empty() || fact.source.empty()) << fact.setting;
  }
}

TEST(Profiles, OneThatIsNotThereIsAnError)
{
  Settings settings;
  std::string error;
  EXPECT_FALSE(parse_settings("profile=mali", settings, error));
  EXPECT_NE(error.find("profile=mali"), std::string::npos) << error;
}

TEST(Profiles, WhatStandsBehindAProfileReplacesIt)
{
  Settings settings;
  std::string error;
  ASSERT_TRUE(
      parse_settings("profile=nouveau,formats=NV12,modifiers=x-tiled,lie=none", settings, error))
      << error;
  EXPECT_EQ(settings.formats, std::vector<std::uint32_t>{VA_FOURCC_NV12});
  EXPECT_EQ(settings.modifiers.size(), 1U);
  EXPECT_EQ(settings.lie, Lie::None);
}

#ifdef HAVE_JSON_C
std::string board()
{
  const char *data = std::getenv("GST_DRM_TEST_DATA");
  return std::string(data ? data : "tests/data") + "/inspect/board.json";
}

// A format has the modifiers that it had on the board, tiled ones first, and no others.
TEST(Machines, ArePlayedFormatByFormat)
{
  constexpr std::uint64_t kX = I915_FORMAT_MOD_X_TILED;
  constexpr std::uint64_t kY = I915_FORMAT_MOD_Y_TILED;
  for (const std::string &name : {std::string(), std::string("#va:renderD128")}) {
    Settings settings;
    std::string error;
    ASSERT_TRUE(parse_settings("machine=" + board() + name, settings, error)) << error;
    EXPECT_EQ(modifiers_of(settings, VA_FOURCC_NV12), (std::vector<std::uint64_t>{kY, 0}));
    EXPECT_EQ(modifiers_of(settings, VA_FOURCC_P010), (std::vector<std::uint64_t>{kY}));
    EXPECT_EQ(modifiers_of(settings, VA_FOURCC_BGRX), (std::vector<std::uint64_t>{kX, 0}));
    EXPECT_EQ(modifiers_of(settings, VA_FOURCC_YUY2), (std::vector<std::uint64_t>{0}));
    EXPECT_EQ(settings.formats.size(), 4U);
    EXPECT_EQ(settings.vendor, "saved machine, i915");
  }
}

TEST(Machines, ThatCannotBePlayedAreAnError)
{
  for (const std::string &file : {board() + "#va:renderD129", board() + "#kms:card0:31",
                                 board() + "x", board() + "/../matrix.txt", std::string("/")}) {
    Settings settings;
    std::string error;
    EXPECT_FALSE(parse_settings("machine=" + file, settings, error)) << file;
    EXPECT_NE(error.find("machine="), std::string::npos) << error;
  }
}
#endif

} // namespace
