// SPDX-License-Identifier: LGPL-2.1-or-later
// The engine against a fake libdrm: what it asks of the kernel for one framebuffer, and what it
// says of planes that did not take it.
#include <vector>

#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;

struct ModifierRow {
  const char *name;
  bool device_takes_them;
  std::uint64_t modifier;
  bool told;
};

const ModifierRow kModifierRows[] = {
    {"linear", true, kModLinear, true},
    {"tiled", true, I915_FORMAT_MOD_X_TILED, true},
    {"implicit", true, kModImplicit, false},
    {"linear_where_none_are_taken", false, kModLinear, false},
    {"implicit_where_none_are_taken", false, kModImplicit, false},
};

class Modifiers : public DisplayTest, public testing::WithParamInterface<ModifierRow> {};

// ADDFB2 refuses modifiers without the flag, and the flag where the driver takes none.
TEST_P(Modifiers, go_with_their_flag)
{
  fakedrm::device().modifiers = GetParam().device_takes_them;
  auto display = open();
  ASSERT_TRUE(display) << display.error().message;
  FrameLayout layout = nv12(memory, memory, 640, 480);
  layout.format.modifier = GetParam().modifier;
  ASSERT_TRUE((*display)->import(layout));
  EXPECT_EQ(fakedrm::device().framebuffer_flags,
            GetParam().told ? unsigned{DRM_MODE_FB_MODIFIERS} : 0U);
  EXPECT_EQ(fakedrm::device().plane_modifiers,
            std::vector<std::uint64_t>(GetParam().told ? 2 : 0, GetParam().modifier));
}

INSTANTIATE_TEST_SUITE_P(Rows, Modifiers, testing::ValuesIn(kModifierRows),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_F(DisplayTest, each_plane_goes_with_its_own_offset_and_stride)
{
  auto display = open();
  ASSERT_TRUE(display);
  FrameLayout layout = nv12(memory, memory, 640, 480);
  layout.planes[0].offset_bytes = 4096;
  layout.planes[1] = {memory.fd.get(), 4096 + 768 * 512, 1024, layout.planes[0].object};
  ASSERT_TRUE((*display)->import(layout));
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> expected = {{4096, 640},
                                                                         {4096 + 768 * 512, 1024}};
  EXPECT_EQ(fakedrm::device().plane_bytes, expected);
}

// One line per plane, for each reason that a plane was left out.
TEST_F(DisplayTest, planes_of_others_are_named_as_such)
{
  constexpr std::uint32_t kOtherCrtc = 11;
  struct Row {
    std::uint64_t user;
    std::uint32_t plane_id;
    const char *why;
  };
  const Row rows[] = {
      {kOtherCrtc, 0, "Plane 31 (overlay): used by CRTC 11."},
      {0, fakedrm::kPrimary, "Plane 31 (overlay): not the one of plane-id."},
      {fakedrm::kCrtc, fakedrm::kPrimary, "Plane 31 (overlay): not the one of plane-id."},
      {0, 0, "Plane 31 (overlay): test commit: EINVAL"},
  };
  for (const Row &row : rows) {
    SCOPED_TRACE(row.why);
    drm_fd.reset(fakedrm::plug());
    fakedrm::device().plane_users[fakedrm::kOverlay] = row.user;
    fakedrm::device().refused_fourcc = DRM_FORMAT_XRGB8888;
    DeviceRequest device;
    device.fd = drm_fd.get();
    OutputRequest output;
    output.plane_id = row.plane_id;
    auto display = Display::open(device, output, listener);
    ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(1024, 768)));
    const auto shown = show(**display, xrgb(memory, 1024, 768));
    ASSERT_FALSE(shown);
    EXPECT_NE(shown.error().message.find(row.why), std::string::npos) << shown.error().message;
    EXPECT_NE(shown.error().message.find("Plane 30 (primary): test commit: EINVAL"),
              std::string::npos)
        << shown.error().message;
  }
}

} // namespace
