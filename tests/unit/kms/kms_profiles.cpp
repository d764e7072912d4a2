// SPDX-License-Identifier: LGPL-2.1-or-later
// The engine on displays of real drivers: what becomes of each picture, what is left behind, and that
// the driver refuses test commits alone.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "profile_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;
using fakedrm::kPrimary;

TEST(DisplayProfiles, EachIsUnderstoodAndHasItsSources)
{
  for (const fakedrm::Profile &profile : fakedrm::all_profiles()) {
    std::string error;
    EXPECT_TRUE(fakedrm::make_model(profile.name, error)) << error;
    EXPECT_FALSE(profile.driver.empty() || profile.root.empty());
    for (const fakedrm::Fact &fact : profile.facts)
      EXPECT_FALSE(fact.setting.empty() || fact.what.empty() || fact.source.empty()) << fact.setting;
  }
  for (const fakedrm::Fact &fact : fakedrm::core_profile().facts)
    EXPECT_TRUE(fact.setting.empty() && !fact.what.empty() && !fact.source.empty()) << fact.what;
}

TEST(DisplayProfiles, OneThatIsNotThereIsAnErrorThatNamesThoseThatAre)
{
  std::string error;
  EXPECT_FALSE(fakedrm::make_model("mali", error));
  EXPECT_NE(error.find("\"mali\""), std::string::npos) << error;
  for (const fakedrm::Profile &profile : fakedrm::all_profiles())
    EXPECT_NE(error.find(profile.name), std::string::npos) << error;
}

TEST(DisplayProfiles, ASettingThatIsNotUnderstoodIsAnError)
{
  for (const char *setting : {"colour=1", "planes=primary:secondary", "zpos=all/free/x/0/1", "pairs=all/XR24", "pitch=", "scale=3/1/1"}) {
    std::string error;
    EXPECT_FALSE(fakedrm::make_model(std::vector<std::string_view>{"planes=primary", setting}, error)) << setting;
    EXPECT_NE(error.find(setting), std::string::npos) << error;
  }
}

// Modifiers with numbers are those that the GPU's own driver lists.
TEST(DisplayProfiles, NumbersOfModifiersAreThoseOfRealGpus)
{
  const char *data = std::getenv("GST_DRM_TEST_DATA");
  if (!data)
    GTEST_SKIP() << "GST_DRM_TEST_DATA is not set";
  const std::pair<const char *, const char *> tables[] = {
      {"amdgpu", "amd-renoir"}, {"nvidia-drm", "nouveau-nv162"}, {"nvidia-drm", "nvidia-gh100"}, {"msm", "freedreno-a618"}};
  for (const auto &[profile, table] : tables) {
    std::string error;
    std::ifstream file(std::string(data) + "/egl-formats/" + table + ".txt");
    const std::string text(std::istreambuf_iterator<char>(file), {});
    ASSERT_FALSE(text.empty()) << table;
    const auto model = fakedrm::make_model(profile, error);
    ASSERT_TRUE(model) << error;
    for (const auto &[fourcc, modifier] : model->planes.front().pairs) {
      if (fourcc != DRM_FORMAT_XRGB8888)
        continue;
      char line[40];
      std::snprintf(line, sizeof(line), "XR24 0x%016llx", static_cast<unsigned long long>(modifier));
      EXPECT_NE(text.find(line), std::string::npos) << profile << ": " << line;
    }
  }
}

// --- pictures

constexpr std::uint64_t kNone = kModImplicit; // of drivers without modifiers

struct Row {
  const char *profile;
  std::uint32_t fourcc;
  std::uint64_t modifier;
  std::uint32_t width, height;
  std::uint32_t rotation; // DRM_MODE_ROTATE_*
  const char *expected;   // the beginning of the outcome, or a part of a refusal; planes count from 30
};

#include "kms_profile_rows.inc"

class ProfileRows : public ProfileTest {};

TEST_P(ProfileRows, Show)
{
  for (const Row &row : kRows) {
    if (GetParam() != row.profile)
      continue;
    SCOPED_TRACE(fourcc_to_string(row.fourcc) + " " + std::to_string(row.width) + "x" + std::to_string(row.height) + " rotation " +
                 std::to_string(row.rotation));
    plug(row.profile);
    light();
    const std::vector<std::string> before = state();
    ASSERT_NO_FATAL_FAILURE(open());
    ASSERT_TRUE(display->start());
    View view;
    view.rotation = row.rotation;
    const std::string got = outcome(frame(memory, {row.fourcc, row.modifier}, row.width, row.height), view);
    EXPECT_NE(got.find(row.expected), std::string::npos) << got;
    if (got.find("does not show") != std::string::npos) { // with the reason of each plane
      EXPECT_LE(got.size(), kMostText);
      for (std::uint32_t id = kPrimary; id < kPrimary + model().planes.size(); id++)
        EXPECT_TRUE(names_plane(got, id) || got.find(" more planes. GST_DEBUG=") != std::string::npos) << got;
    }
    ASSERT_TRUE(display->stop());
    EXPECT_EQ(state(), before);
    display.reset();
    EXPECT_EQ(left_over(), 0);
    expect_no_refusals();
  }
}

// A driver that wants the primary plane looks at the mode: a CRTC that is dark for a while counts as well.
TEST_P(ProfileRows, ACrtcWithoutItsPrimaryPlane)
{
  light();
  fakedrm::Commit commit;
  commit.flags = DRM_MODE_ATOMIC_ALLOW_MODESET | DRM_MODE_ATOMIC_TEST_ONLY;
  commit.values[{kPrimary, "FB_ID"}] = 0;
  commit.values[{kPrimary, "CRTC_ID"}] = 0;
  std::string why;
  const int refused = model().needs_primary ? -EINVAL : 0;
  EXPECT_EQ(fakedrm::check_model(fakedrm::device(), commit, why), refused) << "lit: " << why;
  commit.values[{fakedrm::kCrtc, "ACTIVE"}] = 0;
  EXPECT_EQ(fakedrm::check_model(fakedrm::device(), commit, why), refused) << "dark: " << why;
  commit.values[{fakedrm::kCrtc, "MODE_ID"}] = 0;
  commit.values[{fakedrm::kConnector, "CRTC_ID"}] = 0;
  EXPECT_EQ(fakedrm::check_model(fakedrm::device(), commit, why), 0) << "without a mode: " << why;
}

INSTANTIATE_TEST_SUITE_P(Profiles, ProfileRows, testing::ValuesIn(profile_names()), name_of);

} // namespace
