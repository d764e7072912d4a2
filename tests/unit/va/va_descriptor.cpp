// SPDX-License-Identifier: LGPL-2.1-or-later
// What read_descriptor() takes and refuses. The descriptors come from the test driver's own surfaces (memfds here), true
// and with each of its lies. No libva is opened.
#include <string>
#include <vector>

#include <drm_fourcc.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/open_fds.hpp"
#include "va-driver/settings.hpp"
#include "va-driver/surface.hpp"
#include "gst/va/engine/va_surface.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::test;

vadriver::Settings parse(const std::string &text)
{
  vadriver::Settings settings;
  std::string error;
  EXPECT_TRUE(vadriver::parse_settings("memory=memfd," + text, settings, error)) << error;
  return settings;
}

struct Row {
  const char *name;
  const char *settings;
  std::uint32_t va_fourcc;
  bool composed;
  const char *refusal; // part of the message; "": taken
};

const Row kRows[] = {
    {"nv12", "objects=1", VA_FOURCC_NV12, true, ""},
    {"nv12_separate_layers", "objects=1", VA_FOURCC_NV12, false, ""},
    {"nv12_two_objects", "objects=2", VA_FOURCC_NV12, true, ""},
    {"nv12_two_objects_separate", "objects=2", VA_FOURCC_NV12, false, ""},
    {"i420_three_objects", "objects=3", VA_FOURCC_I420, true, ""},
    {"i420_three_layers", "objects=3", VA_FOURCC_I420, false, ""},
    {"odd_stride", "stride-align=2,stride-extra=34", VA_FOURCC_NV12, true, ""},
    {"padded_height", "height-pad=16", VA_FOURCC_P010, true, ""},
    {"xrgb", "objects=1", VA_FOURCC_BGRX, true, ""},
    {"xrgb_separate", "objects=1", VA_FOURCC_BGRX, false, ""},
    {"x_tiled", "modifiers=x-tiled", VA_FOURCC_BGRX, true, ""},
    {"samsung", "modifiers=samsung", VA_FOURCC_NV12, true, ""},
    {"vivante", "modifiers=vivante", VA_FOURCC_BGRA, true, ""},
    {"zero_objects", "lie=zero-objects", VA_FOURCC_NV12, true, "0 objects"},
    {"many_objects", "lie=many-objects", VA_FOURCC_NV12, true, "7 objects"},
    {"object_index", "lie=object-index", VA_FOURCC_NV12, true, "in object 3 of 1"},
    {"offset_past_the_object", "lie=offset", VA_FOURCC_NV12, true, "plane 1"},
    {"offset_overflows", "lie=offset-overflow", VA_FOURCC_NV12, true, "plane 1"},
    {"modifier_outside_the_list", "lie=modifier", VA_FOURCC_NV12, true, "not one of the 1"},
    {"invalid_modifier", "lie=invalid-modifier", VA_FOURCC_NV12, true, "implicit"},
    {"pitch_0", "lie=zero-pitch", VA_FOURCC_NV12, true, "pitch of 0"},
    {"pitch_below_the_row", "lie=short-pitch", VA_FOURCC_NV12, true, "plane 1"},
    {"object_smaller_than_the_planes", "lie=small-object", VA_FOURCC_NV12, true,
     "the buffer has 64"},
    {"object_larger_than_its_fd", "lie=large-object", VA_FOURCC_NV12, true, "its descriptor has"},
    {"object_without_a_size", "lie=unsized", VA_FOURCC_NV12, true, ""},
    {"objects_without_a_size", "objects=2,lie=unsized", VA_FOURCC_NV12, true, ""},
    {"more_layers_than_planes", "lie=many-layers", VA_FOURCC_NV12, false, "layer 2 of 4"},
    {"no_layers", "lie=zero-layers", VA_FOURCC_NV12, true, "0 layers"},
    {"more_planes_than_four", "lie=many-planes", VA_FOURCC_NV12, true, "9 planes"},
    {"another_fourcc", "lie=fourcc", VA_FOURCC_NV12, true, "was asked for"},
    {"smaller_than_asked", "lie=size", VA_FOURCC_NV12, true, "it says 304x240"},
    // names of real drivers for the same bytes, and names of other bytes
    {"ihd_bgrx", "profile=ihd", VA_FOURCC_BGRX, true, ""},
    {"ihd_bgra", "profile=ihd", VA_FOURCC_BGRA, true, ""},
    {"ihd_rgbx", "profile=ihd", VA_FOURCC_RGBX, true, ""},
    {"ihd_rgba", "profile=ihd", VA_FOURCC_RGBA, true, ""},
    {"ihd_xrgb_is_bgrx", "profile=ihd", VA_FOURCC_XRGB, true, "its layer is"},
    {"ihd_argb_is_bgra", "profile=ihd", VA_FOURCC_ARGB, true, "its layer is"},
    {"radeonsi_yuy2", "profile=radeonsi", VA_FOURCC_YUY2, true, ""},
    {"red_and_blue_changed_places", "alias=BGRX:RGBX:XB24", VA_FOURCC_BGRX, true, "was asked for"},
    {"bytes_of_the_other_order", "alias=BGRX:XRGB:BX24", VA_FOURCC_BGRX, true, "its layer is"},
    {"layer_of_other_bytes", "alias=BGRA:BGRA:AB24", VA_FOURCC_BGRA, true, "its layer is"},
    {"alpha_came", "alias=BGRX:BGRA:AR24", VA_FOURCC_BGRX, true, "was asked for"},
    {"uyvy_for_yuy2", "alias=YUY2:UYVY:UYVY", VA_FOURCC_YUY2, true, "was asked for"},
    {"dead_descriptor", "lie=dead-fd", VA_FOURCC_NV12, true, "object 0"},
    {"two_objects_one_dead", "objects=2,lie=dead-fd", VA_FOURCC_NV12, true, "object 0"},
};

class Descriptor : public testing::TestWithParam<Row> {};

TEST_P(Descriptor, TakenOrRefused)
{
  const auto &row = GetParam();
  const auto settings = parse(row.settings);
  const auto *driver_format = vadriver::format_by_va(row.va_fourcc);
  const auto *format = va::format_by_va(row.va_fourcc);
  ASSERT_TRUE(driver_format && format);
  const auto modifier = settings.modifiers.front();
  const auto surface = vadriver::allocate_surface(settings, *driver_format, 320, 240, modifier);
  ASSERT_TRUE(surface);
  surface->listed = true; // radeonsi names the modifier of such surfaces only
  const auto before = count_fds();
  {
    VADRMPRIMESurfaceDescriptor descriptor{};
    ASSERT_EQ(vadriver::export_surface(*surface, row.composed, descriptor), VA_STATUS_SUCCESS);
    vadriver::rename_export(settings, *surface, descriptor);
    vadriver::tell_lie(settings.lie, descriptor);
    const auto frame = va::read_descriptor(descriptor, *format, 320, 240, {&modifier, 1});
    if (*row.refusal != '\0') {
      ASSERT_FALSE(frame);
      EXPECT_NE(frame.error().message.find(row.refusal), std::string::npos) << frame.error().message;
    } else {
      ASSERT_TRUE(frame) << frame.error().message;
      EXPECT_EQ(frame->format.fourcc, driver_format->drm_fourcc);
      EXPECT_EQ(frame->format.modifier, modifier);
      EXPECT_EQ(frame->objects.size(), surface->objects.size());
      ASSERT_EQ(frame->n_planes, driver_format->n_planes);
      for (std::size_t i = 0; i < frame->n_planes; ++i) {
        EXPECT_EQ(frame->planes[i].object, surface->planes[i].object);
        EXPECT_EQ(frame->planes[i].offset_bytes, surface->planes[i].offset_bytes);
        EXPECT_EQ(frame->planes[i].stride_bytes, surface->planes[i].layout.stride_bytes);
      }
    }
  }
  EXPECT_EQ(count_fds(), before) << "descriptors are closed exactly once";
}
INSTANTIATE_TEST_SUITE_P(Rows, Descriptor, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Descriptor, ImplicitIsTakenWithoutAList)
{
  const auto settings = parse("lie=invalid-modifier");
  const auto surface = vadriver::allocate_surface(settings, *vadriver::format_by_va(VA_FOURCC_NV12), 64, 64, 0);
  ASSERT_TRUE(surface);
  VADRMPRIMESurfaceDescriptor descriptor{};
  ASSERT_EQ(vadriver::export_surface(*surface, true, descriptor), VA_STATUS_SUCCESS);
  vadriver::tell_lie(settings.lie, descriptor);
  const auto frame = va::read_descriptor(descriptor, *va::format_by_va(VA_FOURCC_NV12), 64, 64, {});
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_EQ(frame->format.modifier, kModImplicit);
}

// A descriptor of two objects, changed, and what is said of it. No descriptor stays open.
void expect_refusal(void (*change)(VADRMPRIMESurfaceDescriptor &), const char *why)
{
  const auto surface = vadriver::allocate_surface(parse("objects=2"), *vadriver::format_by_va(VA_FOURCC_NV12), 320, 240, 0);
  ASSERT_TRUE(surface);
  const auto before = count_fds();
  VADRMPRIMESurfaceDescriptor descriptor{};
  ASSERT_EQ(vadriver::export_surface(*surface, true, descriptor), VA_STATUS_SUCCESS);
  change(descriptor);
  {
    const auto frame = va::read_descriptor(descriptor, *va::format_by_va(VA_FOURCC_NV12), 320, 240, {});
    ASSERT_FALSE(frame);
    EXPECT_NE(frame.error().message.find(why), std::string::npos) << frame.error().message;
  }
  EXPECT_EQ(count_fds(), before);
}

TEST(Descriptor, IndexOneBehindTheLastObject)
{
  expect_refusal([](VADRMPRIMESurfaceDescriptor &d) { d.layers[0].object_index[1] = 2; }, "plane 1 is in object 2 of 2");
}

TEST(Descriptor, OneDescriptorTwice)
{
  expect_refusal(
      [](VADRMPRIMESurfaceDescriptor &d) {
        close(d.objects[1].fd);
        d.objects[1].fd = d.objects[0].fd;
      },
      "two objects with the same descriptor");
}

// Of entries that may be garbage, none that could be a standard stream is closed.
TEST(Descriptor, TooManyObjectsAmongThemStandardStreams)
{
  expect_refusal(
      [](VADRMPRIMESurfaceDescriptor &d) {
        d.num_objects = 9;
        d.objects[2].fd = STDOUT_FILENO;
        d.objects[3].fd = STDERR_FILENO;
      },
      "9 objects");
}

TEST(Descriptor, OneLineTooFew)
{
  expect_refusal([](VADRMPRIMESurfaceDescriptor &d) { d.height--; }, "it says 320x239");
}

TEST(Descriptor, ModifiersThatDiffer)
{
  expect_refusal([](VADRMPRIMESurfaceDescriptor &d) { d.objects[1].drm_format_modifier = I915_FORMAT_MOD_X_TILED; },
                 "different modifiers");
}

TEST(Descriptor, AnotherLayer)
{
  expect_refusal([](VADRMPRIMESurfaceDescriptor &d) { d.layers[0].drm_format = DRM_FORMAT_NV21; }, "its layer is NV21");
}

TEST(Settings, MisspeltIsAnError)
{
  for (const char *text : {"object=2", "objects=x", "lie=zero", "fail=exports:1", "modifiers=tiled", "vpp=yes"}) {
    vadriver::Settings settings;
    std::string error;
    EXPECT_FALSE(vadriver::parse_settings(text, settings, error)) << text;
    EXPECT_NE(error.find(text), std::string::npos);
  }
}

} // namespace
