// SPDX-License-Identifier: LGPL-2.1-or-later
// GstDrmVideoInfo and caps. Every row has the same result on every version of GStreamer.
#include <string>

#include <gst/drm/drm.h>
#include <gst/video/video.h>

#include "core/drm_facts.hpp"
#include "core/format.hpp"
#include "support/check_main.hpp"

namespace {

constexpr guint64 kImplicit = GST_DRM_MODIFIER_IMPLICIT;
constexpr GstVideoFormat kOpaque = GST_DRM_VIDEO_FORMAT_DMA_DRM;
constexpr guint64 kY = G_GUINT64_CONSTANT(0x0100000000000002);

constexpr guint32 fourcc(const char *text)
{
  return gstdrm::make_fourcc(text[0], text[1], text[2], text[3]);
}

#define DMABUF "video/x-raw(memory:DMABuf), width=320, height=240, framerate=30/1, "
#define DRM DMABUF "format=DMA_DRM, drm-format="

struct GoodRow {
  const char *name;
  const char *caps;
  const char *fourcc;
  guint64 modifier;
  GstVideoFormat format;
  guint n_planes;
  const char *colorimetry;
  const char *out; // drm-format, or format where there is none
};

constexpr GoodRow kGood[] = {
    {"linear NV12", DRM "NV12", "NV12", 0, GST_VIDEO_FORMAT_NV12, 2, "bt601", "NV12"},
    {"linear XR24", DRM "XR24", "XR24", 0, GST_VIDEO_FORMAT_BGRx, 1, "sRGB", "XR24"},
    {"tiled NV12", DRM "NV12:0x0100000000000002", "NV12", kY, kOpaque, 0, "bt601", "NV12:0x0100000000000002"},
    {"tiled XR24", DRM "XR24:0x0100000000000002", "XR24", kY, kOpaque, 0, "sRGB", "XR24:0x0100000000000002"},
    {"not canonical", DRM "XR24:0x100000000000002", "XR24", kY, kOpaque, 0, "sRGB", "XR24:0x0100000000000002"},
    {"trailing spaces", DRM "\"R8  \"", "R8  ", 0, GST_VIDEO_FORMAT_GRAY8, 1, "1:4:0:0", "R8  "},
    {"named tiling", DRM "NV12:0x0600000000000001", "NV12", G_GUINT64_CONSTANT(0x0600000000000001), GST_VIDEO_FORMAT_NV12_4L4, 2, "bt601", "NV12:0x0600000000000001"},
    {"fourcc without a name, YUV", DRM "NV42:0x0100000000000002", "NV42", kY, kOpaque, 0, "bt601", "NV42:0x0100000000000002"},
    {"linear fourcc without a name, YUV", DRM "NV42", "NV42", 0, kOpaque, 0, "bt601", "NV42"},
    {"fourcc without a name, RGB", DRM "AB4H:0x0100000000000002", "AB4H", kY, kOpaque, 0, "sRGB", "AB4H:0x0100000000000002"},
    {"linear fourcc without a name, RGB", DRM "AB4H", "AB4H", 0, kOpaque, 0, "sRGB", "AB4H"},
    {"unknown fourcc", DRM "ZZZZ:0x0100000000000002", "ZZZZ", kY, kOpaque, 0, "sRGB", "ZZZZ:0x0100000000000002"},
    {"colorimetry kept", DRM "NV12:0x0100000000000002, colorimetry=bt709", "NV12", kY, kOpaque, 0, "bt709", "NV12:0x0100000000000002"},
    {"colorimetry kept, linear", DRM "NV12, colorimetry=bt2020", "NV12", 0, GST_VIDEO_FORMAT_NV12, 2, "bt2020", "NV12"},
    {"implicit", DMABUF "format=NV12", "NV12", kImplicit, kOpaque, 0, "bt601", "NV12"},
    {"implicit RGB", DMABUF "format=BGRx", "XR24", kImplicit, kOpaque, 0, "sRGB", "BGRx"},
    {"dmabuf of a named tiling", DMABUF "format=NV12_4L4", "NV12", G_GUINT64_CONSTANT(0x0600000000000001), GST_VIDEO_FORMAT_NV12_4L4, 2, "bt601", "NV12:0x0600000000000001"},
    {"plain", "video/x-raw, width=320, height=240, framerate=30/1, format=NV12", "NV12", 0, GST_VIDEO_FORMAT_NV12, 2, "bt601", "NV12"},
    {"plain named tiling", "video/x-raw, width=320, height=240, framerate=30/1, format=NV12_64Z32", "NV12", G_GUINT64_CONSTANT(0x0400000000000001), GST_VIDEO_FORMAT_NV12_64Z32, 2, "bt601", "NV12:0x0400000000000001"},
    {"plain with a meta feature", "video/x-raw(memory:SystemMemory, meta:GstVideoOverlayComposition), width=320, height=240, framerate=30/1, format=NV12", "NV12", 0, GST_VIDEO_FORMAT_NV12, 2, "bt601", "NV12"},
    {"dmabuf with a meta feature", "video/x-raw(memory:DMABuf, meta:GstVideoOverlayComposition), width=320, height=240, framerate=30/1, format=DMA_DRM, drm-format=NV12", "NV12", 0, GST_VIDEO_FORMAT_NV12, 2, "bt601", "NV12"},
};

std::string colorimetry_of(const GstVideoInfo &info)
{
  gchar *text = gst_video_colorimetry_to_string(&info.colorimetry);
  std::string copy = text ? text : "";
  g_free(text);
  return copy;
}

GST_START_TEST(test_good)
{
  const GoodRow &row = kGood[__i__];
  g_autoptr(GstCaps) caps = gst_caps_from_string(row.caps);
  fail_unless(caps != nullptr, "row %s", row.name);
  GstDrmVideoInfo info;
  GError *error = nullptr;
  fail_unless(gst_drm_video_info_from_caps_full(&info, caps, &error), "row %s: %s", row.name,
              error ? error->message : "");
  fail_unless(info.drm_fourcc == fourcc(row.fourcc), "row %s", row.name);
  fail_unless(info.drm_modifier == row.modifier, "row %s", row.name);
  fail_unless(GST_VIDEO_INFO_FORMAT(&info.vinfo) == row.format, "row %s: %s", row.name,
              gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info.vinfo)));
  fail_unless_equals_int(GST_VIDEO_INFO_WIDTH(&info.vinfo), 320);
  fail_unless_equals_int(GST_VIDEO_INFO_HEIGHT(&info.vinfo), 240);
  fail_unless_equals_int(GST_VIDEO_INFO_FPS_N(&info.vinfo), 30);
  fail_unless_equals_int(GST_VIDEO_INFO_N_PLANES(&info.vinfo), row.n_planes);
  fail_unless((GST_VIDEO_INFO_SIZE(&info.vinfo) > 0) == (row.n_planes > 0), "row %s", row.name);
  fail_unless(colorimetry_of(info.vinfo) == row.colorimetry, "row %s: got %s", row.name,
              colorimetry_of(info.vinfo).c_str());

  // and back
  g_autoptr(GstCaps) out = gst_drm_video_info_to_caps(&info);
  fail_unless(out != nullptr, "row %s", row.name);
  fail_unless(gst_caps_is_fixed(out));
  const GstStructure *structure = gst_caps_get_structure(out, 0);
  const bool implicit = row.modifier == kImplicit;
  fail_unless_equals_string(gst_structure_get_string(structure, "format"), implicit ? row.out : "DMA_DRM");
  fail_unless_equals_string(gst_structure_get_string(structure, "drm-format"), implicit ? nullptr : row.out);
  fail_unless(gst_caps_features_contains(gst_caps_get_features(out, 0), "memory:DMABuf"));
  fail_unless_equals_int(gst_drm_is_dma_drm_caps(out), implicit ? FALSE : TRUE);
  GstDrmVideoInfo again;
  fail_unless(gst_drm_video_info_from_caps(&again, out), "row %s", row.name);
  fail_unless(gst_drm_video_info_is_equal(&info, &again), "row %s", row.name);
}
GST_END_TEST

struct BadRow {
  const char *name;
  const char *caps;
  const char *why;
};

constexpr BadRow kBad[] = {
    {"any", "ANY", "exactly one structure"},
    {"empty", "EMPTY", "exactly one structure"},
    {"two structures", "video/x-raw, format=NV12, width=1, height=1; video/x-raw, format=NV21, width=1, height=1", "got 2"},
    {"drm-format not fixed", DMABUF "format=DMA_DRM, drm-format={ NV12, XR24 }", "field drm-format is not fixed"},
    {"width not fixed", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, height=1, width=[1,2]", "field width is not fixed"},
    {"format not fixed", "video/x-raw(memory:DMABuf), format={ NV12, NV21 }, height=1, width=1", "field format is not fixed"},
    {"features any", "video/x-raw(ANY), format=NV12, width=320, height=240", "ANY"},
    {"no raw video", "image/jpeg(memory:DMABuf), width=320, height=240", "image/jpeg"},
    {"other memory", "video/x-raw(memory:GLMemory), format=NV12, width=320, height=240", "memory:GLMemory"},
    {"DMA_DRM without feature", "video/x-raw, format=DMA_DRM, width=320, height=240", "without the caps feature memory:DMABuf"},
    {"drm-format without feature", "video/x-raw, format=NV12, drm-format=NV12, width=320, height=240", "drm-format without the caps feature"},
    {"both without feature", "video/x-raw, format=DMA_DRM, drm-format=NV12, width=320, height=240", "drm-format without the caps feature"},
    {"DMA_DRM without drm-format", DMABUF "format=DMA_DRM", "without drm-format"},
    {"drm-format is a number", DMABUF "format=DMA_DRM, drm-format=(int)1", "no string"},
    {"drm-format beside another format", DMABUF "format=NV12, drm-format=NV12", "expected format=DMA_DRM"},
    {"no format", "video/x-raw(memory:DMABuf), width=320, height=240", "no format"},
    {"unknown format", DMABUF "format=FOO", "format=FOO"},
    {"format without fourcc", DMABUF "format=v210", "no DRM fourcc for format=v210"},
    {"plain format without fourcc", "video/x-raw, format=v210, width=320, height=240", "no DRM fourcc"},
    {"written linear", DRM "NV12:0x0000000000000000", "linear modifier"},
    {"invalid modifier", DRM "NV12:0x00ffffffffffffff", "DRM_FORMAT_MOD_INVALID"},
    {"no prefix", DRM "NV12:0100000000000002", "no '0x'"},
    {"cut fourcc", DRM "R8", "4 characters"},
    {"no width", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, height=240", "no width"},
    {"no height", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=320", "no height"},
    {"zero height", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=320, height=0", "height is 0"},
    {"negative width", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=-1, height=1", "width is -1"},
    {"width is a string", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=(string)big, height=240", "no width"},
    {"bad interlacing", DRM "NV12, interlace-mode=(string)alternate", "format:Interlaced"},
    {"huge", "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=2147483647, height=2147483647", "cannot read"},
};

GST_START_TEST(test_bad)
{
  const BadRow &row = kBad[__i__];
  g_autoptr(GstCaps) caps = gst_caps_from_string(row.caps);
  fail_unless(caps != nullptr, "row %s", row.name);
  GstDrmVideoInfo info;
  gst_drm_video_info_init(&info);
  info.drm_fourcc = 7;
  GError *error = nullptr;
  fail_if(gst_drm_video_info_from_caps_full(&info, caps, &error), "row %s", row.name);
  fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_CAPS), "row %s", row.name);
  fail_unless(strstr(error->message, row.why) != nullptr, "row %s: %s", row.name, error->message);
  g_clear_error(&error);
  fail_unless_equals_int(info.drm_fourcc, 7);
  fail_unless(gst_drm_video_info_new_from_caps(caps) == nullptr, "row %s", row.name);
}
GST_END_TEST

GST_START_TEST(test_long_caps_make_short_errors)
{
  std::string text = DMABUF "format=DMA_DRM, drm-format={ NV12";
  for (int i = 1; i < 500; ++i)
    text += ", XR24:0x01" + std::string(10, '0') + std::to_string(1000 + i);
  g_autoptr(GstCaps) caps = gst_caps_from_string((text + " }").c_str());
  GstDrmVideoInfo info;
  GError *error = nullptr;
  fail_if(gst_drm_video_info_from_caps_full(&info, caps, &error));
  fail_unless(strlen(error->message) < 1000, "%s", error->message);
  g_clear_error(&error);
}
GST_END_TEST

GST_START_TEST(test_default_colorimetry_follows_the_size)
{
  g_autoptr(GstCaps) caps = gst_caps_from_string(
      "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12:0x0100000000000002, width=1920, height=1080");
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_from_caps(&info, caps));
  fail_unless(colorimetry_of(info.vinfo) == "bt709", "got %s", colorimetry_of(info.vinfo).c_str());
}
GST_END_TEST

struct KeptRow {
  const char *name;
  const char *format; // and what follows it
  bool colorimetry;   // written back
  bool chroma_site;
};

// What upstream (1.24 and later) writes back of its own caps: the defaults of a linear format, no more of any other.
constexpr KeptRow kKept[] = {
    {"tiled", "DMA_DRM, drm-format=NV12:0x0100000000000002", false, false},
    {"tiled, RGB", "DMA_DRM, drm-format=XR24:0x0100000000000002", false, false},
    {"tiled, with colorimetry", "DMA_DRM, drm-format=NV12:0x0100000000000002, colorimetry=bt2020", true, false},
    {"tiled, with the default colorimetry", "DMA_DRM, drm-format=NV12:0x0100000000000002, colorimetry=bt709", true, false},
    {"tiled, with a chroma site", "DMA_DRM, drm-format=NV12:0x0100000000000002, chroma-site=jpeg", false, true},
    {"tiled, with both", "DMA_DRM, drm-format=NV12:0x0100000000000002, colorimetry=bt709, chroma-site=mpeg2", true, true},
    {"tiled, named by GStreamer", "DMA_DRM, drm-format=NV12:0x0600000000000001", false, false},
    {"tiled, no name", "DMA_DRM, drm-format=NV42:0x0100000000000002", false, false},
    {"linear", "DMA_DRM, drm-format=NV12", true, true},
    {"implicit", "NV12", true, true},
};

GST_START_TEST(test_nothing_is_added)
{
  const KeptRow &row = kKept[__i__];
  g_autofree gchar *text = g_strdup_printf("video/x-raw(memory:DMABuf), width=1920, height=1080, format=%s", row.format);
  g_autoptr(GstCaps) caps = gst_caps_from_string(text);
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_from_caps(&info, caps), "row %s", row.name);
  g_autoptr(GstCaps) out = gst_drm_video_info_to_caps(&info);
  const GstStructure *structure = gst_caps_get_structure(out, 0);
  g_autofree gchar *written = gst_caps_to_string(out);
  fail_unless(gst_structure_has_field(structure, "colorimetry") == row.colorimetry, "row %s: %s", row.name, written);
  fail_unless(gst_structure_has_field(structure, "chroma-site") == row.chroma_site, "row %s: %s", row.name, written);
  fail_unless(gst_caps_is_subset(out, caps), "row %s: %s", row.name, written);

  // what is set afterwards is written, whatever the caps had
  GstDrmVideoInfo *changed = gst_drm_video_info_copy(&info);
  changed->vinfo.chroma_site = GST_VIDEO_CHROMA_SITE_DV;
  fail_unless(gst_video_colorimetry_from_string(&changed->vinfo.colorimetry, "smpte240m"));
  g_autoptr(GstCaps) said = gst_drm_video_info_to_caps(changed);
  structure = gst_caps_get_structure(said, 0);
  fail_unless(gst_structure_has_field(structure, "colorimetry"), "row %s", row.name);
  fail_unless_equals_string(gst_structure_get_string(structure, "chroma-site"), "dv");
  gst_drm_video_info_free(changed);
}
GST_END_TEST

GST_START_TEST(test_interlaced)
{
  g_autoptr(GstCaps) caps = gst_caps_from_string(
      "video/x-raw(memory:DMABuf, format:Interlaced), format=DMA_DRM, drm-format=NV12:0x0100000000000002, width=320, "
      "height=240, framerate=25/1, interlace-mode=alternate");
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_from_caps(&info, caps));
  fail_unless_equals_int(GST_VIDEO_INFO_INTERLACE_MODE(&info.vinfo), GST_VIDEO_INTERLACE_MODE_ALTERNATE);
  g_autoptr(GstCaps) out = gst_drm_video_info_to_caps(&info);
  GstDrmVideoInfo again;
  fail_unless(gst_drm_video_info_from_caps(&again, out));
  fail_unless(gst_drm_video_info_is_equal(&info, &again));
}
GST_END_TEST

GST_START_TEST(test_from_video_info)
{
  GstVideoInfo nv12;
  gst_video_info_set_format(&nv12, GST_VIDEO_FORMAT_NV12, 320, 240);
  GST_VIDEO_INFO_FPS_N(&nv12) = 25;
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_from_video_info(&info, &nv12, GST_DRM_MODIFIER_LINEAR));
  fail_unless(info.drm_fourcc == fourcc("NV12") && info.drm_modifier == 0);
  fail_unless(gst_video_info_is_equal(&info.vinfo, &nv12));

  fail_unless(gst_drm_video_info_from_video_info(&info, &nv12, kY));
  fail_unless(GST_VIDEO_INFO_FORMAT(&info.vinfo) == kOpaque);
  fail_unless_equals_int(GST_VIDEO_INFO_FPS_N(&info.vinfo), 25);
  fail_unless_equals_int(GST_VIDEO_INFO_SIZE(&info.vinfo), 0);

  fail_unless(gst_drm_video_info_from_video_info(&info, &nv12, kImplicit));
  fail_unless(info.drm_modifier == kImplicit && GST_VIDEO_INFO_FORMAT(&info.vinfo) == kOpaque);

  fail_unless(gst_drm_video_info_from_video_info(&info, &nv12, G_GUINT64_CONSTANT(0x0600000000000001)));
  fail_unless(GST_VIDEO_INFO_FORMAT(&info.vinfo) == GST_VIDEO_FORMAT_NV12_4L4);
  fail_unless_equals_int(GST_VIDEO_INFO_FPS_N(&info.vinfo), 25);

  GstVideoInfo tiled;
  gst_video_info_set_format(&tiled, GST_VIDEO_FORMAT_NV12_4L4, 320, 240);
  fail_unless(gst_drm_video_info_from_video_info(&info, &tiled, G_GUINT64_CONSTANT(0x0600000000000001)));
  fail_if(gst_drm_video_info_from_video_info(&info, &tiled, GST_DRM_MODIFIER_LINEAR));
  fail_if(gst_drm_video_info_from_video_info(&info, &tiled, kY));

  GstVideoInfo v210;
  gst_video_info_set_format(&v210, GST_VIDEO_FORMAT_v210, 320, 240);
  fail_if(gst_drm_video_info_from_video_info(&info, &v210, GST_DRM_MODIFIER_LINEAR));
}
GST_END_TEST

GST_START_TEST(test_to_video_info)
{
  g_autoptr(GstCaps) caps = gst_caps_from_string(DRM "NV12:0x0100000000000002, colorimetry=bt709");
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_from_caps(&info, caps));
  GstVideoInfo plain;
  fail_unless(gst_drm_video_info_to_video_info(&info, &plain));
  fail_unless(GST_VIDEO_INFO_FORMAT(&plain) == GST_VIDEO_FORMAT_NV12);
  fail_unless_equals_int(GST_VIDEO_INFO_PLANE_STRIDE(&plain, 1), 320);
  fail_unless_equals_int(GST_VIDEO_INFO_SIZE(&plain), 115200);
  fail_unless(colorimetry_of(plain) == "bt709", "got %s", colorimetry_of(plain).c_str());

  g_autoptr(GstCaps) unnamed = gst_caps_from_string(DRM "NV42:0x0100000000000002");
  fail_unless(gst_drm_video_info_from_caps(&info, unnamed));
  fail_if(gst_drm_video_info_to_video_info(&info, &plain));
}
GST_END_TEST

GST_START_TEST(test_no_caps)
{
  GstDrmVideoInfo info;
  gst_drm_video_info_init(&info);
  fail_unless(info.drm_fourcc == 0 && info.drm_modifier == kImplicit);
  fail_unless(gst_drm_video_info_to_caps(&info) == nullptr);
  info.drm_fourcc = fourcc("NV42");
  fail_unless(gst_drm_video_info_to_caps(&info) == nullptr, "an implicit NV42 has no caps");
}
GST_END_TEST

GST_START_TEST(test_copy)
{
  g_autoptr(GstCaps) caps = gst_caps_from_string(DRM "NV12");
  g_autoptr(GstDrmVideoInfo) info = gst_drm_video_info_new_from_caps(caps);
  fail_unless(info != nullptr);
  g_autoptr(GstDrmVideoInfo) copy = static_cast<GstDrmVideoInfo *>(g_boxed_copy(GST_TYPE_DRM_VIDEO_INFO, info));
  fail_unless(gst_drm_video_info_is_equal(info, copy));
  copy->drm_modifier = kY;
  fail_if(gst_drm_video_info_is_equal(info, copy));
  gst_drm_video_info_free(nullptr);
}
GST_END_TEST

struct IsRow {
  const char *caps;
  gboolean is;
};

constexpr IsRow kIs[] = {
    {DRM "NV12", TRUE},
    {DRM "nonsense", TRUE},
    {DMABUF "format=DMA_DRM, drm-format={ NV12, XR24 }", FALSE},
    {DMABUF "format=NV12", FALSE},
    {DMABUF "format=DMA_DRM", TRUE},
    {"video/x-raw, format=DMA_DRM", FALSE},
    {"ANY", FALSE},
    {"EMPTY", FALSE},
};

GST_START_TEST(test_is_dma_drm)
{
  g_autoptr(GstCaps) caps = gst_caps_from_string(kIs[__i__].caps);
  fail_unless_equals_int(gst_drm_is_dma_drm_caps(caps), kIs[__i__].is);
}
GST_END_TEST

#if GST_CHECK_VERSION(1, 24, 0)
// The two structures convert by assignment, member by member.
GST_START_TEST(test_upstream_layout)
{
  static_assert(sizeof(GstDrmVideoInfo) == sizeof(GstVideoInfoDmaDrm));
  static_assert(offsetof(GstDrmVideoInfo, drm_fourcc) == offsetof(GstVideoInfoDmaDrm, drm_fourcc));
  static_assert(offsetof(GstDrmVideoInfo, drm_modifier) == offsetof(GstVideoInfoDmaDrm, drm_modifier));
  guint compared = 0;
  guint linear = 0;
  for (const GoodRow &row : kGood) {
    g_autoptr(GstCaps) caps = gst_caps_from_string(row.caps);
    GstVideoInfoDmaDrm theirs;
    // none of the other two forms of caps
    fail_unless_equals_int(gst_video_is_dma_drm_caps(caps), gst_drm_is_dma_drm_caps(caps));
    if (!gst_video_is_dma_drm_caps(caps))
      continue;
    // fourccs without a name in GStreamer are not upstream's
    const bool named = gst_video_dma_drm_fourcc_to_format(fourcc(row.fourcc)) != GST_VIDEO_FORMAT_UNKNOWN;
    const bool theirs_too = gst_video_info_dma_drm_from_caps(&theirs, caps);
    fail_unless(theirs_too || !named, "row %s", row.name);
    if (!theirs_too)
      continue;
    compared++;
    linear += row.modifier == GST_DRM_MODIFIER_LINEAR ? 1 : 0;
    GstDrmVideoInfo ours;
    fail_unless(gst_drm_video_info_from_caps(&ours, caps), "row %s", row.name);
    fail_unless(ours.drm_fourcc == theirs.drm_fourcc, "row %s", row.name);
    fail_unless(ours.drm_modifier == theirs.drm_modifier, "row %s", row.name);
    if (GST_VIDEO_INFO_FORMAT(&theirs.vinfo) != GST_VIDEO_FORMAT_DMA_DRM)
      fail_unless(gst_video_info_is_equal(&ours.vinfo, &theirs.vinfo), "row %s", row.name);
    g_autoptr(GstCaps) out = gst_video_info_dma_drm_to_caps(reinterpret_cast<GstVideoInfoDmaDrm *>(&ours));
    fail_unless(out != nullptr);
    GstDrmVideoInfo again;
    fail_unless(gst_drm_video_info_from_caps(&again, out), "row %s", row.name);
    fail_unless(again.drm_modifier == ours.drm_modifier && again.drm_fourcc == ours.drm_fourcc, "row %s", row.name);
  }
  // linear and tiled, of each some
  fail_unless(linear >= 3 && compared - linear >= 4, "compared %u, %u of them linear", compared, linear);
}
GST_END_TEST
#endif

struct SiteRow {
  const char *fields;
  GstVideoChromaSite site;
};
const SiteRow kSites[] = {
    {"drm-format=NV12, width=16, height=576", GST_VIDEO_CHROMA_SITE_JPEG},
    {"drm-format=NV12, width=16, height=577", GST_VIDEO_CHROMA_SITE_MPEG2},
    {"drm-format=NV12, width=16, height=576, colorimetry=bt601", GST_VIDEO_CHROMA_SITE_JPEG},
    {"drm-format=P010, width=16, height=16, colorimetry=bt2020", GST_VIDEO_CHROMA_SITE_JPEG},
    {"drm-format=P010, width=16, height=1080, colorimetry=bt709", GST_VIDEO_CHROMA_SITE_MPEG2},
    {"drm-format=NV12, width=16, height=16, chroma-site=dv", GST_VIDEO_CHROMA_SITE_DV},
    {"drm-format=NV12, width=16, height=16, colorimetry=bt601, chroma-site=cosited", GST_VIDEO_CHROMA_SITE_COSITED},
    {"drm-format=XR24, width=16, height=16, colorimetry=sRGB", GST_VIDEO_CHROMA_SITE_UNKNOWN},
};

// Where caps have no chroma-site the default is that of the size, as in later versions, whatever else they have.
GST_START_TEST(test_chroma_sites)
{
  const SiteRow &row = kSites[__i__];
  g_autoptr(GstCaps) caps = gst_caps_from_string((std::string("video/x-raw(memory:DMABuf), format=DMA_DRM, framerate=30/1, ") + row.fields).c_str());
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_from_caps(&info, caps), "%s", row.fields);
  fail_unless(info.vinfo.chroma_site == row.site, "%s: %d", row.fields, info.vinfo.chroma_site);
}
GST_END_TEST

Suite *videoinfo_suite()
{
  Suite *suite = suite_create("videoinfo");
  TCase *tcase = tcase_create("videoinfo");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_chroma_sites, 0, G_N_ELEMENTS(kSites));
  tcase_add_loop_test(tcase, test_good, 0, G_N_ELEMENTS(kGood));
  tcase_add_loop_test(tcase, test_bad, 0, G_N_ELEMENTS(kBad));
  tcase_add_test(tcase, test_long_caps_make_short_errors);
  tcase_add_test(tcase, test_default_colorimetry_follows_the_size);
  tcase_add_loop_test(tcase, test_nothing_is_added, 0, G_N_ELEMENTS(kKept));
  tcase_add_test(tcase, test_interlaced);
  tcase_add_test(tcase, test_from_video_info);
  tcase_add_test(tcase, test_to_video_info);
  tcase_add_test(tcase, test_no_caps);
  tcase_add_test(tcase, test_copy);
  tcase_add_loop_test(tcase, test_is_dma_drm, 0, G_N_ELEMENTS(kIs));
#if GST_CHECK_VERSION(1, 24, 0)
  tcase_add_test(tcase, test_upstream_layout);
#endif
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(videoinfo)
