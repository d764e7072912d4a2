// SPDX-License-Identifier: LGPL-2.1-or-later
// The rules of egldmabufupload's caps, pair by pair for the lists of real vendors' drivers.
#include "egl_caps.hpp"

#include <string>
#include <vector>

#include "support/gpu_table.hpp"

#include "engine/gl_planes.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::Format;
using gstdrm::FormatSet;
using gstdrm::GstPtr;
using gstdrm::kModImplicit;
using gstdrm::UploadDevice;
using gstdrm::UploadFormats;

UploadDevice vendor(const std::string &name)
{
  UploadDevice device;
  device.can_copy = false;
  std::vector<Format> both;
  std::vector<Format> external;
  for (const GpuRow &row : load_gpu_rows(name))
    (row.external_only ? external : both).push_back(row.format);
  device.images = {FormatSet::from_pairs(both), FormatSet::from_pairs(external)};
  return device;
}

GstPtr<GstCaps> caps_of_pair(Format format)
{
  if (format.modifier != kModImplicit)
    return caps_of(dmabuf_caps(('"' + std::string(gstdrm::format_to_text(format).view()) + '"').c_str(), 64, 48));
  const GstVideoFormat name = gstdrm::name_of(format.fourcc);
  return caps_of(std::string("video/x-raw(memory:DMABuf), width=64, height=48, framerate=30/1, format=") +
                 (name == GST_VIDEO_FORMAT_UNKNOWN ? "none" : gst_video_format_to_string(name)));
}

bool meets(const GstPtr<GstCaps> &caps, const std::string &other)
{
  return gst_caps_can_intersect(caps.get(), caps_of(other).get()) != FALSE;
}

// Every pair that the driver lists as the texture that it lists it as, and no other one; the same
// from the other pad.
GST_START_TEST(test_vendor)
{
  const std::string &name = gpu_table_names()[static_cast<std::size_t>(__i__)];
  const UploadDevice device = vendor(name);
  const FormatSet planes = gstdrm::plane_pairs(device.images);
  const UploadFormats formats = formats_of(device);
  const auto from_2d = gstdrm::upload_transform(GST_PAD_SRC, caps_of(GL "2D, format=RGBA").get(), formats);
  const auto from_external =
      gstdrm::upload_transform(GST_PAD_SRC, caps_of(GL "external-oes, format=RGBA").get(), formats);
  std::size_t pictures = 0;
  for (const GpuRow &row : load_gpu_rows(name)) {
    const std::string text = gstdrm::describe_format(row.format);
    if (row.format.modifier == kModImplicit && gstdrm::name_of(row.format.fourcc) == GST_VIDEO_FORMAT_UNKNOWN)
      continue;
    const auto in = caps_of_pair(row.format);
    const auto out = gstdrm::upload_transform(GST_PAD_SINK, in.get(), formats);
    const bool picture = gstdrm::colours_of(row.format.fourcc) != gstdrm::Colours::Other;
    // RGBA is drawn of the planes
    const bool is_drawn =
        planes.contains(row.format) && gstdrm::egl::can_draw_planes(row.format, device.images.texture_2d);
    const bool as_2d = picture && (!row.external_only || is_drawn);
    pictures += picture ? 1 : 0;
    fail_unless_equals_int(meets(out, GL "2D, format=RGBA"), as_2d);
    fail_unless_equals_int(meets(out, GL "external-oes, format=RGBA"), picture);
    fail_unless_equals_int(gst_caps_can_intersect(from_2d.get(), in.get()), as_2d);
    fail_unless_equals_int(gst_caps_can_intersect(from_external.get(), in.get()), picture);
    // a pair with another modifier is another pair
    Format other = row.format;
    other.modifier = 0x0a00000000000123;
    const auto none = gstdrm::upload_transform(GST_PAD_SINK, caps_of_pair(other).get(), formats);
    fail_unless(gst_caps_is_empty(none.get()), "%s: %s", text.c_str(), text_of(none.get()).c_str());
  }
  fail_unless(pictures > 30);
}
GST_END_TEST

// Planes are offered where each plane's own pair is listed as 2D, as a second reading of the table
// says.
GST_START_TEST(test_vendor_planes)
{
  const std::string &name = gpu_table_names()[static_cast<std::size_t>(__i__)];
  const UploadDevice device = vendor(name);
  const FormatSet planes = gstdrm::plane_pairs(device.images);
  const FormatSet listed = device.images.all();
  const std::uint32_t nv12 = pair("NV12").fourcc;
  std::vector<std::uint64_t> modifiers = {gstdrm::kModLinear, kModImplicit};
  for (const Format &format : listed.pairs())
    modifiers.push_back(format.modifier);
  for (const std::uint64_t modifier : modifiers) {
    const bool has_planes = device.images.texture_2d.contains({pair("R8  ").fourcc, modifier}) &&
                            device.images.texture_2d.contains({pair("GR88").fourcc, modifier});
    const bool tiled = modifier != gstdrm::kModLinear && modifier != kModImplicit;
    fail_unless_equals_int(planes.contains({nv12, modifier}),
                           has_planes && (!tiled || listed.contains({nv12, modifier})));
    fail_unless(!planes.contains({pair("XR24").fourcc, modifier}), "RGB has no planes");
  }
}
GST_END_TEST

// A filter with a list keeps exactly the pairs that both sides have.
GST_START_TEST(test_lists)
{
  const std::string &name = gpu_table_names()[static_cast<std::size_t>(__i__)];
  const std::string &other = gpu_table_names()[(static_cast<std::size_t>(__i__) + 1) % gpu_table_names().size()];
  const UploadFormats formats = formats_of(vendor(name));
  const FormatSet theirs = FormatSet::from_pairs(load_gpu_table(other));
  g_autoptr(GstDrmFormatSet) filter_set = gst_drm_format_set_new();
  std::vector<Format> both;
  for (const Format &format : theirs.pairs()) {
    gst_drm_format_set_add(filter_set, format.fourcc, format.modifier);
    const bool listed = formats.all().contains(format);
    if (listed)
      both.push_back(format);
  }
  const auto filter = GstPtr<GstCaps>::adopt(gst_drm_format_set_to_caps(filter_set));
  const auto common = GstPtr<GstCaps>::adopt(gstdrm::put_together(gstdrm::intersect_parts(
      gstdrm::take_apart(filter.get()),
      gstdrm::upload_parts(GST_PAD_SRC, caps_of("ANY").get(), formats))));
  std::vector<Format> got;
  g_autoptr(GstDrmFormatSet) set = gst_drm_format_set_new_from_caps(common.get());
  for (guint i = 0; set && i < gst_drm_format_set_get_size(set); i++) {
    Format format;
    gst_drm_format_set_get(set, i, &format.fourcc, &format.modifier);
    got.push_back(format);
  }
  fail_unless(FormatSet::from_pairs(got) == FormatSet::from_pairs(both), "%zu pairs instead of %zu",
              got.size(), both.size());
}
GST_END_TEST

Suite *egl_caps_vendors_suite()
{
  Suite *suite = suite_create("egl-caps-vendors");
  TCase *tcase = tcase_create("caps");
  suite_add_tcase(suite, tcase);
  const auto tables = static_cast<int>(gpu_table_names().size());
  tcase_add_loop_test(tcase, test_vendor, 0, tables);
  tcase_add_loop_test(tcase, test_vendor_planes, 0, tables);
  tcase_add_loop_test(tcase, test_lists, 0, tables);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(egl_caps_vendors)
