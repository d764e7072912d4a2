// SPDX-License-Identifier: LGPL-2.1-or-later
// A display with the model of a real driver behind it, and another program's picture on it.
#pragma once

#include <memory>
#include <regex>
#include <string>
#include <vector>

#include <drm_fourcc.h>

#include "display_profiles.hpp"
#include "fake_model.hpp"
#include "kms_display_fixture.hpp"

namespace gstdrm::test {

inline constexpr std::uint32_t kFoundFramebuffer = 90; // another program's, of the whole mode
inline constexpr std::uint32_t kFoundMode = 91;        // a blob

// Whether one of an error's lines says why the plane does not show the picture.
inline bool names_plane(const std::string &text, std::uint32_t id)
{
  return std::regex_search(text, std::regex("\nPlanes? ([0-9]+, )*" + std::to_string(id) + "[, ][^\n]*\\("));
}

// An error has at most so many characters.
inline constexpr std::size_t kMostText = 400;

struct ProfileListener : Listener {
  ~ProfileListener() override { wait(); }
  std::vector<std::string> losses;
  std::vector<std::string> view_errors;
  void report(const kms::Report &report) noexcept override
  {
    Listener::report(report);
    if (report.what == kms::Report::What::FrameLost)
      losses.push_back(report.error.message);
    if (report.what == kms::Report::What::ViewRefused)
      view_errors.push_back(report.error.message);
  }
};

class ProfileTest : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override { plug(GetParam()); }
  void TearDown() override
  {
    display.reset();
    EXPECT_EQ(left_over(), 0);
    EXPECT_EQ(fakedrm::device().double_closes, 0U);
    expect_no_refusals();
  }

  void plug(const std::string &profile);
  // Another program's picture on the primary plane, in the preferred mode.
  void light();
  void open();
  // Every commit that the driver has refused was a test.
  static void expect_no_refusals();
  // All values of all objects, as another program would read them.
  static std::vector<std::string> state();

  // Frames as decoders and renderers make them: pitches are multiples of 512 bytes.
  [[nodiscard]] static FrameLayout frame(const Memory &memory, Format format, std::uint32_t width, std::uint32_t height,
                                         std::uint32_t more_stride_bytes = 0);
  Result<kms::Shown> show(const FrameLayout &layout, int frames = 1,
                                   std::shared_ptr<const kms::Overlay> overlay = nullptr);
  [[nodiscard]] static kms::Picture picture_of(const FrameLayout &layout);
  // How the picture is shown, or why not. `view` comes first.
  std::string outcome(const FrameLayout &layout, const kms::View &view = {}, int frames = 3);
  [[nodiscard]] static const fakedrm::Model &model() { return *fakedrm::device().model; }
  // What the last commits have left.
  static std::uint64_t now(std::uint32_t object, const std::string &name);

  UniqueFd drm_fd;
  ProfileListener heard;
  std::shared_ptr<kms::Display> display;
  Memory memory{64 << 20};
};

// For INSTANTIATE_TEST_SUITE_P(): every profile, and what a test of one is called.
std::vector<std::string> profile_names();
std::string name_of(const testing::TestParamInfo<std::string> &info);

} // namespace gstdrm::test
