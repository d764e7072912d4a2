// SPDX-License-Identifier: LGPL-2.1-or-later
// Format sets of the engines and of the public library, and what implicit-modifier makes of them.
#include <vector>

#include <gst/drm/drm.h>
#include <gst/drm/element/format_sets.hpp>
#include <gst/drm/element/implicit_modifier.hpp>

#include "support/check_main.hpp"

namespace {

using namespace gstdrm;

constexpr guint32 kNv12 = 0x3231564e;
constexpr guint32 kXr24 = 0x34325258;
constexpr guint64 kYTiled = G_GUINT64_CONSTANT(0x0100000000000002);

struct Row {
  std::vector<Format> pairs;
  const char *text;
};
const Row kRows[] = {
    {{}, "{ }"},
    {{{kNv12, kModLinear}}, "{ NV12 }"},
    {{{kXr24, kYTiled}, {kNv12, kModImplicit}}, "{ NV12 (implicit), XR24:0x0100000000000002 }"},
    {{{kNv12, kModImplicit}, {kNv12, kModLinear}, {kNv12, kYTiled}}, "{ NV12, NV12 (implicit), NV12:0x0100000000000002 }"},
};

void expect_text(const GstDrmFormatSet *set, const char *expected)
{
  g_autofree gchar *text = gst_drm_format_set_to_string(set);
  fail_unless_equals_string(text, expected);
}

GST_START_TEST(test_there_and_back)
{
  const Row &row = kRows[__i__];
  const FormatSet formats = FormatSet::from_pairs(row.pairs);
  const FormatSetPtr set = to_public(formats);
  expect_text(set.get(), row.text);
  fail_unless(from_public(*set) == formats);
}
GST_END_TEST

struct ImplicitRow {
  ImplicitModifier setting;
  const char *expected;
};
// of NV12 linear and tiled, XR24 tiled, and AR24 without a modifier
const ImplicitRow kImplicit[] = {
    {ImplicitModifier::Auto, "{ NV12, NV12:0x0100000000000002, AR24 (implicit), XR24:0x0100000000000002 }"},
    {ImplicitModifier::Refuse, "{ NV12, NV12:0x0100000000000002, XR24:0x0100000000000002 }"},
    {ImplicitModifier::Linear, "{ NV12, NV12 (implicit), NV12:0x0100000000000002, XR24:0x0100000000000002 }"},
    {ImplicitModifier::Driver, "{ NV12, NV12 (implicit), NV12:0x0100000000000002, AR24 (implicit), XR24 (implicit), "
                               "XR24:0x0100000000000002 }"},
};

GST_START_TEST(test_with_implicit)
{
  constexpr guint32 kAr24 = 0x34325241;
  const FormatSet listed = FormatSet::from_pairs(
      {{kNv12, kModLinear}, {kNv12, kYTiled}, {kXr24, kYTiled}, {kAr24, kModImplicit}});
  expect_text(to_public(with_implicit(listed, kImplicit[__i__].setting)).get(), kImplicit[__i__].expected);
}
GST_END_TEST

// The info of implicit caps is that of the same caps with a linear modifier, field by field.
GST_START_TEST(test_resolve)
{
  constexpr const char *kRest = ", width=64, height=48, framerate=25/1, colorimetry=bt709, pixel-aspect-ratio=4/3, "
                                "interlace-mode=progressive";
  const auto parse = [](const char *text) {
    GstDrmVideoInfo info;
    const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string((std::string(text) + kRest).c_str()));
    fail_unless(gst_drm_video_info_from_caps(&info, caps.get()), "%s", text);
    return info;
  };
  const GstDrmVideoInfo linear = parse("video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12");
  const GstDrmVideoInfo tiled = parse("video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0100000000000002");
  const GstDrmVideoInfo implicit = parse("video/x-raw(memory:DMABuf), format=NV12");
  for (const ImplicitModifier setting :
       {ImplicitModifier::Auto, ImplicitModifier::Refuse, ImplicitModifier::Linear, ImplicitModifier::Driver}) {
    GstDrmVideoInfo info = implicit;
    resolve_implicit(info, setting);
    fail_unless(gst_drm_video_info_is_equal(&info, setting == ImplicitModifier::Linear ? &linear : &implicit));
    info = tiled;
    resolve_implicit(info, setting);
    fail_unless(gst_drm_video_info_is_equal(&info, &tiled));
    fail_unless_equals_int(check_implicit(implicit, setting) ? 1 : 0, setting != ImplicitModifier::Refuse);
    fail_unless(check_implicit(linear, setting) && check_implicit(tiled, setting));
  }
}
GST_END_TEST

Suite *kit_format_sets_suite()
{
  Suite *suite = suite_create("kit: format sets");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_there_and_back, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tcase, test_with_implicit, 0, G_N_ELEMENTS(kImplicit));
  tcase_add_test(tcase, test_resolve);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(kit_format_sets)
