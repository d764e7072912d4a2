// SPDX-License-Identifier: LGPL-2.1-or-later
// The engine against a fake libdrm: what it asks of the kernel for one framebuffer, and what it
// says of planes that did not take it.
#include <cerrno>
#include <utility>
#include <vector>

#include "gst/kms/engine/card/kms_dumb.hpp"
#include "gst/kms/engine/output/kms_registry.hpp"
#include "kms_display_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

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
      {fakedrm::kCrtc, fakedrm::kPrimary, "Plane 31 (overlay): not the one of plane-id."},
      {0, 0, "Plane 31 (overlay): test commit: EINVAL"},
  };
  for (const Row &row : rows) {
    SCOPED_TRACE(row.why);
    replug();
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

// Neither the first commit nor the last touches a plane that serves another CRTC.
TEST_F(DisplayTest, planes_of_others_are_left_alone)
{
  fakedrm::device().plane_users[fakedrm::kOverlay] = 11;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)) && (*display)->drain(kLong_ns));
  ASSERT_TRUE((*display)->stop());
  for (const fakedrm::Commit &c : fakedrm::device().commits)
    for (const auto &[property, set] : c.values)
      EXPECT_NE(property.first, fakedrm::kOverlay) << property.second << " = " << set;
}

// Where the primary plane has to be on and has to cover the CRTC, a black one of the mode's own
// size does.
TEST_F(DisplayTest, the_black_behind_an_overlay_covers_each_mode)
{
  fakedrm::device().primary_centres = false;
  fakedrm::device().needs_primary = true;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start());
  const std::pair<std::uint32_t, std::uint32_t> sizes[] = {{100, 100}, {1000, 700}, {200, 100}};
  const std::pair<std::uint32_t, std::uint32_t> modes[] = {{640, 480}, {1024, 768}, {640, 480}};
  for (std::size_t i = 0; i < 3; i++) {
    ASSERT_TRUE((*display)->configure(picture(sizes[i].first, sizes[i].second)));
    ASSERT_TRUE(show(**display, xrgb(memory, sizes[i].first, sizes[i].second)) &&
                (*display)->drain(kLong_ns));
    const fakedrm::Commit &c = fakedrm::device().commits.back();
    const auto black = static_cast<std::uint32_t>(value(c, fakedrm::kPrimary, "FB_ID"));
    EXPECT_EQ(fakedrm::device().sizes.at(black), modes[i]) << i;
    EXPECT_EQ(value(c, fakedrm::kPrimary, "CRTC_W"), modes[i].first);
    EXPECT_EQ(value(c, fakedrm::kPrimary, "CRTC_H"), modes[i].second);
    EXPECT_EQ(value(c, fakedrm::kOverlay, "CRTC_W"), sizes[i].first);
  }
}

TEST_F(DisplayTest, a_mode_keeps_its_blob)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(1000, 700)));
  ASSERT_TRUE(show(**display, xrgb(memory, 1000, 700)) && (*display)->drain(kLong_ns));
  ASSERT_EQ(fakedrm::device().blobs.size(), 1U);
  const auto blob = fakedrm::device().blobs.begin()->first;
  ASSERT_TRUE((*display)->configure(picture(1010, 710)));
  ASSERT_TRUE(show(**display, xrgb(memory, 1010, 710)) && (*display)->drain(kLong_ns));
  ASSERT_EQ(fakedrm::device().blobs.size(), 1U);
  EXPECT_EQ(fakedrm::device().blobs.begin()->first, blob);
}

TEST_F(DisplayTest, no_framebuffer_has_modifiers_where_none_are_taken)
{
  fakedrm::device().modifiers = false;
  auto display = open();
  Picture p = picture(640, 480);
  p.format.modifier = kModImplicit;
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(p));
  FrameLayout layout = xrgb(memory, 640, 480);
  layout.format.modifier = kModImplicit;
  ASSERT_TRUE(show(**display, layout));
  EXPECT_EQ(fakedrm::device().all_framebuffer_flags,
            0U); // the scratch ones of test commits neither
  EXPECT_GT(fakedrm::device().sizes.size(), 1U);
}

TEST_F(DisplayTest, zpos_0_is_one_as_well)
{
  for (const int zpos : {-1, 0, 3}) {
    replug();
    fakedrm::device().has_zpos = true;
    auto display = open();
    ASSERT_TRUE(display);
    View view;
    view.zpos = zpos;
    (*display)->set_view(view);
    ASSERT_TRUE((*display)->start() && (*display)->configure(picture(1024, 768)));
    ASSERT_TRUE(show(**display, xrgb(memory, 1024, 768)) && (*display)->drain(kLong_ns));
    EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "zpos"),
              zpos < 0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(zpos));
  }
}

TEST_F(DisplayTest, each_encoding_and_range_has_its_value)
{
  struct Row {
    ColorEncoding encoding;
    ColorRange range;
    std::uint64_t encoding_value, range_value;
  };
  const Row rows[] = {
      {ColorEncoding::Bt601, ColorRange::Limited, fakedrm::kBt601, fakedrm::kLimitedRange},
      {ColorEncoding::Bt709, ColorRange::Full, fakedrm::kBt709, fakedrm::kFullRange},
      {ColorEncoding::Bt2020, ColorRange::Limited, fakedrm::kBt2020, fakedrm::kLimitedRange},
  };
  auto display = open();
  ASSERT_TRUE(display && (*display)->start());
  for (const Row &row : rows) {
    Picture p = picture(1024, 768);
    p.format.fourcc = DRM_FORMAT_NV12;
    p.encoding = row.encoding;
    p.range = row.range;
    ASSERT_TRUE((*display)->configure(p));
    ASSERT_TRUE(show(**display, nv12(memory, memory, 1024, 768)) && (*display)->drain(kLong_ns));
    const fakedrm::Commit &c = fakedrm::device().commits.back();
    EXPECT_EQ(value(c, fakedrm::kPrimary, "COLOR_ENCODING"), row.encoding_value);
    EXPECT_EQ(value(c, fakedrm::kPrimary, "COLOR_RANGE"), row.range_value);
  }
}

// A request that lacks a property is not committed without it.
// One device, by whatever properties it is named.
TEST_F(DisplayTest, properties_that_name_two_devices_are_refused)
{
  const auto opens = [this](const char *driver, const char *bus_id, const char *path) {
    DeviceRequest request;
    request.fd = drm_fd.get();
    request.driver_name = driver;
    request.bus_id = bus_id;
    request.path = path;
    const auto display = Display::open(request, {}, listener);
    if (!display) {
      EXPECT_EQ(display.error().sys_errno, EINVAL);
      const std::string given = std::string(driver) + bus_id + path;
      EXPECT_NE(display.error().message.find(given), std::string::npos) << display.error().message;
      EXPECT_NE(display.error().message.find("Leave out"), std::string::npos);
    }
    return static_cast<bool>(display);
  };
  EXPECT_TRUE(opens("fake", "", ""));
  EXPECT_TRUE(opens("", "fake:0", ""));
  EXPECT_FALSE(opens("i915", "", ""));
  EXPECT_FALSE(opens("", "pci:0000:00:02.0", ""));
  EXPECT_FALSE(opens("", "", "/dev/null"));
  EXPECT_FALSE(opens("", "", "/dev/dri/no-such-card"));
  EXPECT_TRUE(fakedrm::device().commits.empty());
}

TEST_F(DisplayTest, half_a_request_is_none)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  fakedrm::device().fail_call = "drmModeAtomicAddProperty";
  const auto shown = show(**display, xrgb(memory, 640, 480));
  ASSERT_FALSE(shown);
  EXPECT_EQ(shown.error().sys_errno, ENOMEM);
  EXPECT_TRUE(fakedrm::device().commits.empty());
}

// implicit-modifier=driver of the element, on a driver that lists modifiers: the pairs are offered,
// and a frame of them is shown without a modifier.
TEST_F(DisplayTest, frames_without_a_modifier_where_the_application_asks_for_them)
{
  constexpr Format kImplicit{DRM_FORMAT_XRGB8888, kModImplicit};
  for (const bool asked : {false, true}) {
    replug();
    DeviceRequest device;
    device.fd = drm_fd.get();
    OutputRequest output;
    output.implicit_modifiers = asked;
    auto display = Display::open(device, output, listener);
    ASSERT_TRUE(display) << display.error().message;
    EXPECT_TRUE((*display)->formats().contains({DRM_FORMAT_XRGB8888, kModLinear}));
    EXPECT_EQ((*display)->formats().contains(kImplicit), asked);
    EXPECT_FALSE((*display)->formats().contains_fourcc(DRM_FORMAT_BGR888));
    Picture p = picture(640, 480);
    p.format = kImplicit;
    ASSERT_TRUE((*display)->start());
    ASSERT_EQ(static_cast<bool>((*display)->configure(p)), asked);
    if (!asked)
      continue;
    FrameLayout layout = xrgb(memory, 640, 480);
    layout.format = kImplicit;
    ASSERT_TRUE((*display)->import(layout));
    EXPECT_EQ(fakedrm::device().framebuffer_flags, 0U);
    EXPECT_TRUE(fakedrm::device().plane_modifiers.empty());
    ASSERT_TRUE(show(**display, layout) && (*display)->drain(kLong_ns));
    EXPECT_TRUE((*display)->formats().contains(kImplicit));
    ASSERT_TRUE((*display)->configure(picture(640, 480)));
    const Memory other{640 * 480 * 4};
    ASSERT_TRUE((*display)->import(xrgb(other, 640, 480)));
    EXPECT_EQ(fakedrm::device().framebuffer_flags, unsigned{DRM_MODE_FB_MODIFIERS});
    EXPECT_EQ(fakedrm::device().plane_modifiers, std::vector<std::uint64_t>{kModLinear});
    ASSERT_TRUE(show(**display, xrgb(other, 640, 480)) && (*display)->drain(kLong_ns));
  }
}

// A plane without IN_FORMATS has implicit pairs on a device that takes modifiers as well.
TEST_F(DisplayTest, scratch_framebuffers_are_as_their_pair)
{
  DeviceRequest request;
  request.fd = drm_fd.get();
  const auto device = Registry::get().open(request);
  ASSERT_TRUE(device) << device.error().message;
  for (const std::uint64_t modifier : {kModLinear, kModImplicit}) {
    const Format format{DRM_FORMAT_NV12, modifier};
    const auto scratch = ScratchBuffer::create(*device, FormatSet::from_pairs({format}), 640, 480);
    ASSERT_TRUE(scratch);
    ASSERT_TRUE(scratch->framebuffer(format));
    const bool told = modifier != kModImplicit;
    EXPECT_EQ(fakedrm::device().framebuffer_flags, told ? unsigned{DRM_MODE_FB_MODIFIERS} : 0U);
    EXPECT_EQ(fakedrm::device().plane_modifiers.size(), told ? 2U : 0U);
  }
}

} // namespace
