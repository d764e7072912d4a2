// SPDX-License-Identifier: LGPL-2.1-or-later
// GstDrmVideoInfo from fourcc, modifier and size: the same as from caps, for whatever caps can say.
#include <climits>
#include <string>

#include <gst/drm/drm.h>
#include <gst/video/video.h>

#include "core/drm_facts.hpp"
#include "support/check_main.hpp"

namespace {

constexpr guint64 kImplicit = GST_DRM_MODIFIER_IMPLICIT;
constexpr guint64 kY = G_GUINT64_CONSTANT(0x0100000000000002);

constexpr guint32 fourcc(const char *text)
{
  return gstdrm::make_fourcc(text[0], text[1], text[2], text[3]);
}

struct GoodRow {
  const char *name;
  guint32 fourcc;
  guint64 modifier;
  guint width;
  guint height;
  guint n_planes;
  const char *caps; // what the caps that say the same begin with
};

#define DRM "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format="

const GoodRow kGood[] = {
    {"linear", fourcc("NV12"), 0, 640, 480, 2, DRM "NV12"},
    {"tiled", fourcc("NV12"), kY, 640, 480, 0, DRM "NV12:0x0100000000000002"},
    {"named tiling", fourcc("NV12"), G_GUINT64_CONSTANT(0x0600000000000001), 640, 480, 2, DRM "NV12:0x0600000000000001"},
    {"large enough for another colorimetry", fourcc("NV12"), kY, 3840, 2160, 0, DRM "NV12:0x0100000000000002"},
    {"RGB", fourcc("XR24"), kY, 1920, 1080, 0, DRM "XR24:0x0100000000000002"},
    {"one pixel", fourcc("R8  "), 0, 1, 1, 1, DRM "\"R8  \""},
    {"odd size", fourcc("NV12"), 0, 641, 481, 2, DRM "NV12"},
    {"implicit", fourcc("NV12"), kImplicit, 640, 480, 0, "video/x-raw(memory:DMABuf), format=NV12"},
    {"big-endian", fourcc("R16 ") | 0x80000000U, 0, 64, 64, 1, DRM "\"R16 _BE\""},
    {"fourcc without a video format", fourcc("NV42"), 0, 640, 480, 0, DRM "NV42"},
    {"fourcc that nobody knows", fourcc("ZZZZ"), kY, 640, 480, 0, DRM "ZZZZ:0x0100000000000002"},
    {"modifier of an unknown vendor", fourcc("XR24"), G_GUINT64_CONSTANT(0xfe00000000000001), 640, 480, 0, DRM "XR24:0xfe00000000000001"},
};

GST_START_TEST(test_good)
{
  const GoodRow &row = kGood[__i__];
  GError *error = nullptr;
  g_autoptr(GstDrmVideoInfo) info =
      gst_drm_video_info_new_from_format(row.fourcc, row.modifier, row.width, row.height, &error);
  fail_unless(info != nullptr, "%s: %s", row.name, error ? error->message : "?");
  fail_unless(info->drm_fourcc == row.fourcc && info->drm_modifier == row.modifier, "%s", row.name);
  fail_unless_equals_int(GST_VIDEO_INFO_WIDTH(&info->vinfo), row.width);
  fail_unless_equals_int(GST_VIDEO_INFO_HEIGHT(&info->vinfo), row.height);
  fail_unless_equals_int(GST_VIDEO_INFO_N_PLANES(&info->vinfo), row.n_planes);

  gchar *text = g_strdup_printf("%s, width=%u, height=%u", row.caps, row.width, row.height);
  g_autoptr(GstCaps) caps = gst_caps_from_string(text);
  g_autoptr(GstDrmVideoInfo) from_caps = gst_drm_video_info_new_from_caps(caps);
  fail_unless(from_caps && gst_drm_video_info_is_equal(info, from_caps), "%s: not what %s is", row.name, text);
  g_free(text);

  GstDrmVideoInfo set;
  gst_drm_video_info_init(&set);
  fail_unless(gst_drm_video_info_set_format(&set, row.fourcc, row.modifier, row.width, row.height, nullptr));
  fail_unless(gst_drm_video_info_is_equal(info, &set), "%s", row.name);
  g_autoptr(GstCaps) out = gst_drm_video_info_to_caps(info);
  g_autoptr(GstDrmVideoInfo) again = gst_drm_video_info_new_from_caps(out);
  fail_unless(again && again->drm_fourcc == row.fourcc && again->drm_modifier == row.modifier, "%s", row.name);
}
GST_END_TEST

struct BadRow {
  const char *name;
  guint32 fourcc;
  guint64 modifier;
  guint width;
  guint height;
  GstDrmError code;
  const char *text; // in the message
};

const BadRow kBad[] = {
    {"no fourcc", 0, 0, 640, 480, GST_DRM_ERROR_FORMAT, "0x00000000 is no fourcc"},
    {"a control character", 0x01020304, 0, 640, 480, GST_DRM_ERROR_FORMAT, "0x01020304 is no fourcc"},
    {"spaces only", 0x20202020, 0, 640, 480, GST_DRM_ERROR_FORMAT, "is no fourcc"},
    {"implicit without a video format", fourcc("NV42"), kImplicit, 640, 480, GST_DRM_ERROR_FORMAT, "give a modifier"},
    {"no width", fourcc("NV12"), 0, 0, 480, GST_DRM_ERROR_LAYOUT, "0x480 has no pixels"},
    {"no height", fourcc("NV12"), kY, 640, 0, GST_DRM_ERROR_LAYOUT, "640x0 has no pixels"},
    {"a negative width", fourcc("NV12"), kY, static_cast<guint>(-1), 1, GST_DRM_ERROR_LAYOUT, "4294967295x1 is larger"},
    {"more bytes than fit", fourcc("NV12"), 0, INT_MAX, INT_MAX, GST_DRM_ERROR_LAYOUT, "2147483647x2147483647 is larger"},
    {"more bytes than fit, tiled", fourcc("XR24"), kY, INT_MAX, 2, GST_DRM_ERROR_LAYOUT, "is larger"},
};

GST_START_TEST(test_bad)
{
  const BadRow &row = kBad[__i__];
  GError *error = nullptr;
  fail_unless(gst_drm_video_info_new_from_format(row.fourcc, row.modifier, row.width, row.height, &error) == nullptr,
              "%s", row.name);
  fail_unless(g_error_matches(error, GST_DRM_ERROR, row.code), "%s: %s", row.name, error ? error->message : "no error");
  fail_unless(std::string(error->message).find(row.text) != std::string::npos, "%s: %s", row.name, error->message);
  g_clear_error(&error);
  fail_unless(gst_drm_video_info_new_from_format(row.fourcc, row.modifier, row.width, row.height, nullptr) == nullptr);

  GstDrmVideoInfo info;
  gst_drm_video_info_init(&info);
  fail_unless(gst_drm_video_info_set_format(&info, fourcc("XR24"), kY, 16, 16, nullptr));
  const GstDrmVideoInfo before = info;
  fail_if(gst_drm_video_info_set_format(&info, row.fourcc, row.modifier, row.width, row.height, nullptr));
  fail_unless(gst_drm_video_info_is_equal(&info, &before), "%s: left alone on failure", row.name);
}
GST_END_TEST

GST_START_TEST(test_programmer_mistakes)
{
  GError *error = nullptr;
  EXPECT_CRITICAL(gst_drm_video_info_set_format(nullptr, fourcc("NV12"), 0, 64, 64, nullptr));
  g_set_error_literal(&error, GST_DRM_ERROR, GST_DRM_ERROR_FORMAT, "set already");
  EXPECT_CRITICAL(gst_drm_video_info_new_from_format(fourcc("NV12"), 0, 64, 64, &error));
  g_clear_error(&error);
}
GST_END_TEST

Suite *videoinfo_format_suite()
{
  Suite *suite = suite_create("videoinfo_format");
  TCase *tcase = tcase_create("videoinfo_format");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_good, 0, G_N_ELEMENTS(kGood));
  tcase_add_loop_test(tcase, test_bad, 0, G_N_ELEMENTS(kBad));
  tcase_add_test(tcase, test_programmer_mistakes);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(videoinfo_format)
