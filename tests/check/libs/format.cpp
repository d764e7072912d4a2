// SPDX-License-Identifier: LGPL-2.1-or-later
// The C API of formats: text, names, and the two ways between fourccs and GstVideoFormat.
#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <gst/drm/drm.h>

#include "core/drm_facts.hpp"
#include "core/format.hpp"
#include "gstdrm-compat-private.h"
#include "support/check_main.hpp"

namespace {

using gstdrm::make_fourcc;

constexpr guint32 fourcc(const char *text)
{
  return make_fourcc(text[0], text[1], text[2], text[3]);
}

constexpr guint32 kBe = gstdrm::kFourccBigEndian;

struct TextRow {
  const char *in;
  const char *out; // NULL: refused
};

constexpr TextRow kTexts[] = {
    {"NV12", "NV12"},
    {"NV12:0x0100000000000002", "NV12:0x0100000000000002"},
    {"NV12:0x100000000000002", "NV12:0x0100000000000002"},
    {"R8  :0x0200000018601B04", "R8  :0x0200000018601b04"},
    {"XR24_BE", "XR24_BE"},
    {"NV12:0x0000000000000000", nullptr},
    {"NV12:0x00ffffffffffffff", nullptr},
    {"NV12:0100000000000002", nullptr},
    {"NV12:0x", nullptr},
    {"NV12:0x01000000000000021", nullptr},
    {"NV12:0x010000000000000g", nullptr},
    {"R8", nullptr},
    {"", nullptr},
    {"N\xc3\xa9" "12", nullptr},
};

GST_START_TEST(test_text)
{
  const TextRow &row = kTexts[__i__];
  guint32 code = 1;
  guint64 modifier = 2;
  GError *error = nullptr;
  const gboolean read = gst_drm_format_parse(row.in, &code, &modifier, &error);
  if (!row.out) {
    fail_if(read, "row '%s' was read", row.in);
    fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_FORMAT), "row '%s'", row.in);
    fail_unless(g_utf8_validate(error->message, -1, nullptr), "row '%s'", row.in);
    fail_unless(strstr(error->message, "position") != nullptr, "row '%s': %s", row.in, error->message);
    fail_unless(code == 1 && modifier == 2, "row '%s' changed the outputs", row.in);
    g_clear_error(&error);
    fail_if(gst_drm_format_parse(row.in, nullptr, nullptr, nullptr), "row '%s'", row.in);
    return;
  }
  fail_unless(read, "row '%s': %s", row.in, error ? error->message : "");
  gchar *text = gst_drm_format_to_string(code, modifier);
  fail_unless_equals_string(text, row.out);
  g_free(text);
}
GST_END_TEST

GST_START_TEST(test_no_text)
{
  fail_unless(gst_drm_format_to_string(fourcc("NV12"), GST_DRM_MODIFIER_IMPLICIT) == nullptr);
  fail_unless(gst_drm_format_to_string(0, GST_DRM_MODIFIER_LINEAR) == nullptr);
  fail_unless(gst_drm_format_to_string(1, GST_DRM_MODIFIER_LINEAR) == nullptr);
}
GST_END_TEST

GST_START_TEST(test_programmer_mistakes)
{
  EXPECT_CRITICAL(gst_drm_format_parse(nullptr, nullptr, nullptr, nullptr));
}
GST_END_TEST

GST_START_TEST(test_describe)
{
  gchar *name = gst_drm_modifier_describe(G_GUINT64_CONSTANT(0x0100000000000001));
  fail_unless_equals_string(name, "INTEL_X_TILED");
  g_free(name);
}
GST_END_TEST

// Where a component lies, by the bit layouts in drm_fourcc.h: plane, first bit of the word, depth. R, G,
// B, A or Y, Cb, Cr, A; the first of its kind where a word has several pixels.
struct Component {
  int plane;
  int bit;
  int depth;
};

struct MapRow {
  GstVideoFormat format;
  guint32 fourcc;
  guint64 modifier;
  int big_endian_bytes; // of the word; 0: little endian
  int n_components;     // 0: GStreamer cannot unpack it, or its first pixel is not where this table can say
  Component components[4];
};

#define LE(format, code, n, ...) {GST_VIDEO_FORMAT_##format, fourcc(code), 0, 0, n, {__VA_ARGS__}}
#define BE(format, code, bytes, n, ...) {GST_VIDEO_FORMAT_##format, fourcc(code) | kBe, 0, bytes, n, {__VA_ARGS__}}
#define TILED(format, code, modifier, n, ...)                                                                          \
  {GST_VIDEO_FORMAT_##format, fourcc(code), G_GUINT64_CONSTANT(modifier), 0, n, {__VA_ARGS__}}

constexpr MapRow kMap[] = {
    LE(BGRx, "XR24", 3, {0, 16, 8}, {0, 8, 8}, {0, 0, 8}),
    LE(RGBx, "XB24", 3, {0, 0, 8}, {0, 8, 8}, {0, 16, 8}),
    LE(xBGR, "RX24", 3, {0, 24, 8}, {0, 16, 8}, {0, 8, 8}),
    LE(xRGB, "BX24", 3, {0, 8, 8}, {0, 16, 8}, {0, 24, 8}),
    LE(BGRA, "AR24", 4, {0, 16, 8}, {0, 8, 8}, {0, 0, 8}, {0, 24, 8}),
    LE(RGBA, "AB24", 4, {0, 0, 8}, {0, 8, 8}, {0, 16, 8}, {0, 24, 8}),
    LE(ABGR, "RA24", 4, {0, 24, 8}, {0, 16, 8}, {0, 8, 8}, {0, 0, 8}),
    LE(ARGB, "BA24", 4, {0, 8, 8}, {0, 16, 8}, {0, 24, 8}, {0, 0, 8}),
    LE(BGR, "RG24", 3, {0, 16, 8}, {0, 8, 8}, {0, 0, 8}),
    LE(RGB, "BG24", 3, {0, 0, 8}, {0, 8, 8}, {0, 16, 8}),
    LE(RGB16, "RG16", 3, {0, 11, 5}, {0, 5, 6}, {0, 0, 5}),
    LE(BGR16, "BG16", 3, {0, 0, 5}, {0, 5, 6}, {0, 11, 5}),
    LE(RGB15, "XR15", 3, {0, 10, 5}, {0, 5, 5}, {0, 0, 5}),
    LE(BGR15, "XB15", 3, {0, 0, 5}, {0, 5, 5}, {0, 10, 5}),
    LE(BGR10A2_LE, "AR30", 4, {0, 20, 10}, {0, 10, 10}, {0, 0, 10}, {0, 30, 2}),
    LE(RGB10A2_LE, "AB30", 4, {0, 0, 10}, {0, 10, 10}, {0, 20, 10}, {0, 30, 2}),
    LE(BGRA64_LE, "AR48", 4, {0, 32, 16}, {0, 16, 16}, {0, 0, 16}, {0, 48, 16}),
    LE(RGBA64_LE, "AB48", 4, {0, 0, 16}, {0, 16, 16}, {0, 32, 16}, {0, 48, 16}),
    BE(ARGB64_BE, "AR48", 8, 4, {0, 32, 16}, {0, 16, 16}, {0, 0, 16}, {0, 48, 16}),
    BE(ABGR64_BE, "AB48", 8, 4, {0, 0, 16}, {0, 16, 16}, {0, 32, 16}, {0, 48, 16}),
    BE(r210, "XR30", 4, 3, {0, 20, 10}, {0, 10, 10}, {0, 0, 10}),
    LE(GRAY8, "R8  ", 1, {0, 0, 8}),
    LE(GRAY16_LE, "R16 ", 1, {0, 0, 16}),
    BE(GRAY16_BE, "R16 ", 2, 1, {0, 0, 16}),
    LE(GRAY10_LE32, "YPA4", 1, {0, 0, 10}),
    LE(YUY2, "YUYV", 3, {0, 0, 8}, {0, 8, 8}, {0, 24, 8}),
    LE(YVYU, "YVYU", 3, {0, 0, 8}, {0, 24, 8}, {0, 8, 8}),
    LE(UYVY, "UYVY", 3, {0, 8, 8}, {0, 0, 8}, {0, 16, 8}),
    LE(VYUY, "VYUY", 3, {0, 8, 8}, {0, 16, 8}, {0, 0, 8}),
    LE(VUYA, "AYUV", 4, {0, 16, 8}, {0, 8, 8}, {0, 0, 8}, {0, 24, 8}),
    LE(v308, "VU24", 3, {0, 0, 8}, {0, 8, 8}, {0, 16, 8}),
    LE(Y410, "Y410", 4, {0, 10, 10}, {0, 0, 10}, {0, 20, 10}, {0, 30, 2}),
    // MSB aligned in words of 16 bits
    LE(Y210, "Y210", 3, {0, 6, 10}, {0, 22, 10}, {0, 54, 10}),
    LE(Y212_LE, "Y212", 3, {0, 4, 12}, {0, 20, 12}, {0, 52, 12}),
    LE(Y412_LE, "Y412", 4, {0, 20, 12}, {0, 4, 12}, {0, 36, 12}, {0, 52, 12}),
    LE(NV12, "NV12", 3, {0, 0, 8}, {1, 0, 8}, {1, 8, 8}),
    LE(NV21, "NV21", 3, {0, 0, 8}, {1, 8, 8}, {1, 0, 8}),
    LE(NV16, "NV16", 3, {0, 0, 8}, {1, 0, 8}, {1, 8, 8}),
    LE(NV61, "NV61", 3, {0, 0, 8}, {1, 8, 8}, {1, 0, 8}),
    LE(NV24, "NV24", 3, {0, 0, 8}, {1, 0, 8}, {1, 8, 8}),
    LE(P010_10LE, "P010", 3, {0, 6, 10}, {1, 6, 10}, {1, 22, 10}),
    LE(P012_LE, "P012", 3, {0, 4, 12}, {1, 4, 12}, {1, 20, 12}),
    LE(P016_LE, "P016", 3, {0, 0, 16}, {1, 0, 16}, {1, 16, 16}),
    LE(NV12_10LE40, "NV15", 3, {0, 0, 10}, {1, 0, 10}, {1, 10, 10}),
    LE(NV12_10LE32, "P030", 3, {0, 0, 10}, {1, 0, 10}, {1, 10, 10}),
    LE(NV16_10LE32, "P230", 3, {0, 0, 10}, {1, 0, 10}, {1, 10, 10}),
    LE(I420, "YU12", 3, {0, 0, 8}, {1, 0, 8}, {2, 0, 8}),
    LE(YV12, "YV12", 3, {0, 0, 8}, {2, 0, 8}, {1, 0, 8}),
    LE(Y42B, "YU16", 3, {0, 0, 8}, {1, 0, 8}, {2, 0, 8}),
    LE(Y41B, "YU11", 3, {0, 0, 8}, {1, 0, 8}, {2, 0, 8}),
    LE(Y444, "YU24", 3, {0, 0, 8}, {1, 0, 8}, {2, 0, 8}),
    LE(YUV9, "YUV9", 3, {0, 0, 8}, {1, 0, 8}, {2, 0, 8}),
    LE(YVU9, "YVU9", 3, {0, 0, 8}, {2, 0, 8}, {1, 0, 8}),
    // LSB aligned
    LE(I420_10LE, "S010", 3, {0, 0, 10}, {1, 0, 10}, {2, 0, 10}),
    LE(I422_10LE, "S210", 3, {0, 0, 10}, {1, 0, 10}, {2, 0, 10}),
    LE(Y444_10LE, "S410", 3, {0, 0, 10}, {1, 0, 10}, {2, 0, 10}),
    LE(I420_12LE, "S012", 3, {0, 0, 12}, {1, 0, 12}, {2, 0, 12}),
    LE(I422_12LE, "S212", 3, {0, 0, 12}, {1, 0, 12}, {2, 0, 12}),
    LE(Y444_12LE, "S412", 3, {0, 0, 12}, {1, 0, 12}, {2, 0, 12}),
    LE(Y444_16LE, "S416", 3, {0, 0, 16}, {1, 0, 16}, {2, 0, 16}),
    TILED(NV12_4L4, "NV12", 0x0600000000000001, 3, {0, 0, 8}, {1, 0, 8}, {1, 8, 8}),
    TILED(NV12_64Z32, "NV12", 0x0400000000000001, 3, {0, 0, 8}, {1, 0, 8}, {1, 8, 8}),
    TILED(NV12_32L32, "NV12", 0x0900000000000001, 3, {0, 0, 8}, {1, 0, 8}, {1, 8, 8}),
    TILED(NV12_16L32S, "NV12", 0x0b00000000000001, 3, {0, 0, 8}, {1, 0, 8}, {1, 8, 8}),
    GST_DRM_ROWS_SINCE_1_24(
        TILED(NV12_10LE40_4L4, "NV15", 0x0600000000000001, 3, {0, 0, 10}, {1, 0, 10}, {1, 10, 10}),
        TILED(MT2110T, "NV15", 0x0b00000000010001, 0, {}),
        TILED(MT2110R, "NV15", 0x0b00000000020001, 0, {}), )
    GST_DRM_ROWS_SINCE_1_26(
        LE(Y216_LE, "Y216", 3, {0, 0, 16}, {0, 16, 16}, {0, 48, 16}),
        LE(Y416_LE, "Y416", 4, {0, 16, 16}, {0, 0, 16}, {0, 32, 16}, {0, 48, 16}),
        LE(GRAY10_LE16, "R10 ", 1, {0, 0, 10}), )
    GST_DRM_ROWS_SINCE_1_28(
        LE(NV16_10LE40, "NV20", 3, {0, 0, 10}, {1, 0, 10}, {1, 10, 10}),
        LE(BGR10x2_LE, "XR30", 3, {0, 20, 10}, {0, 10, 10}, {0, 0, 10}),
        LE(RGB10x2_LE, "XB30", 3, {0, 0, 10}, {0, 10, 10}, {0, 20, 10}), )
};

GST_START_TEST(test_map)
{
  const MapRow &row = kMap[__i__];
  const char *name = gst_video_format_to_string(row.format);
  guint64 modifier = 1;
  const guint32 code = gst_drm_format_from_video_format(row.format, &modifier);
  fail_unless(code == row.fourcc, "%s maps to %s", name, gstdrm::fourcc_to_string(code).c_str());
  fail_unless(modifier == row.modifier, "%s has modifier 0x%016" G_GINT64_MODIFIER "x", name, modifier);
  fail_unless(gst_drm_format_to_video_format(row.fourcc, row.modifier) == row.format, "%s", name);
  fail_unless(gst_drm_format_to_video_format(row.fourcc, GST_DRM_MODIFIER_IMPLICIT) == GST_VIDEO_FORMAT_UNKNOWN);
}
GST_END_TEST

// One picture in memory, and its first pixel as GStreamer unpacks it: A, then R, G, B or Y, U, V.
class Picture {
public:
  explicit Picture(GstVideoFormat format)
  {
    gst_video_info_init(&info_);
    fail_unless(gst_video_info_set_format(&info_, format, 480, 240));
    memory_.resize(GST_VIDEO_INFO_SIZE(&info_) + 64); // unpackers read whole words
  }
  void set_bits(const Component &component, int big_endian_bytes)
  {
    for (int bit = component.bit; bit < component.bit + component.depth; ++bit) {
      const int byte = big_endian_bytes > 0 ? big_endian_bytes - 1 - bit / 8 : bit / 8;
      memory_[info_.offset[component.plane] + static_cast<gsize>(byte)] |= static_cast<guint8>(1 << bit % 8);
    }
  }
  std::array<guint, 4> first_pixel() const
  {
    const GstVideoFormatInfo *format = info_.finfo;
    gpointer planes[GST_VIDEO_MAX_PLANES] = {};
    for (guint i = 0; i < GST_VIDEO_INFO_N_PLANES(&info_); ++i)
      planes[i] = const_cast<guint8 *>(memory_.data()) + info_.offset[i];
    std::vector<guint16> line(4 * 480);
    format->unpack_func(format, GST_VIDEO_PACK_FLAG_NONE, line.data(), planes, info_.stride, 0, 0, 480);
    const bool wide = GST_VIDEO_FORMAT_INFO_BITS(gst_video_format_get_info(format->unpack_format)) == 16;
    const auto *bytes = reinterpret_cast<const guint8 *>(line.data());
    if (wide)
      return {line[0], line[1], line[2], line[3]};
    return {bytes[0], bytes[1], bytes[2], bytes[3]};
  }

private:
  GstVideoInfo info_;
  std::vector<guint8> memory_;
};

// Sets the bits of one component as drm_fourcc.h places them: GStreamer has to see exactly that one.
GST_START_TEST(test_components)
{
  const MapRow &row = kMap[__i__];
  const std::array<guint, 4> dark = Picture(row.format).first_pixel();
  for (int c = 0; c < row.n_components; ++c) {
    Picture picture(row.format);
    picture.set_bits(row.components[c], row.big_endian_bytes);
    const std::array<guint, 4> lit = picture.first_pixel();
    for (int other = 0; other < row.n_components; ++other) {
      const std::size_t at = other == 3 ? 0 : static_cast<std::size_t>(other) + 1;
      const bool changed = lit[at] != dark[at];
      fail_unless(changed == (other == c), "%s: bits of component %d: component %d goes from 0x%x to 0x%x",
                  gst_video_format_to_string(row.format), c, other, dark[at], lit[at]);
    }
  }
}
GST_END_TEST

// Sizes of planes, computed here and there.
GST_START_TEST(test_layout_agrees)
{
  const MapRow &row = kMap[__i__];
  if (row.modifier != GST_DRM_MODIFIER_LINEAR)
    return; // counted in tiles
  const gstdrm::FourccInfo *ours = gstdrm::fourcc_info(row.fourcc);
  fail_unless(ours != nullptr);
  GstVideoInfo info;
  gst_video_info_init(&info);
  const char *name = gst_video_format_to_string(row.format);
  // divisible by all blocks and subsamplings, so that GStreamer pads nothing but strides
  fail_unless(gst_video_info_set_format(&info, row.format, 480, 240), "%s", name);
  fail_unless_equals_int(GST_VIDEO_INFO_N_PLANES(&info), ours->n_planes);
  for (guint i = 0; i < GST_VIDEO_INFO_N_PLANES(&info); ++i) {
    const guint32 bytes = gstdrm::plane_row_bytes(ours->planes[i], 480);
    const guint64 rows = gstdrm::plane_rows(ours->planes[i], 240);
    const gsize end = i + 1 < GST_VIDEO_INFO_N_PLANES(&info) ? info.offset[i + 1] : info.size;
    fail_unless_equals_int(info.stride[i], bytes);
    fail_unless_equals_uint64(end - info.offset[i], bytes * rows);
  }
  // YUV or not: decides colorimetry. GRAY8 is R8 here, a colour of its own.
  if (GST_VIDEO_INFO_IS_YUV(&info) || GST_VIDEO_INFO_IS_RGB(&info))
    fail_unless_equals_int(gstdrm::fourcc_is_yuv(row.fourcc), GST_VIDEO_INFO_IS_YUV(&info) ? 1 : 0);
}
GST_END_TEST

// Every GstVideoFormat of this GStreamer maps one to one or not at all, and the table above is complete.
GST_START_TEST(test_one_to_one)
{
  std::set<std::pair<guint32, guint64>> seen;
  guint mapped = 0;
  for (int i = 0; i < 512; ++i) {
    const auto format = static_cast<GstVideoFormat>(i);
    guint64 modifier = 1;
    const guint32 code = gst_drm_format_from_video_format(format, &modifier);
    if (code == 0) {
      fail_unless(modifier == GST_DRM_MODIFIER_IMPLICIT);
      continue;
    }
    ++mapped;
    fail_unless(seen.emplace(code, modifier).second, "%s maps where another does",
                gst_video_format_to_string(format));
    fail_unless(gst_drm_format_to_video_format(code, modifier) == format);
    fail_unless_equals_int(gst_drm_format_from_video_format(format, nullptr), code);
  }
  fail_unless_equals_int(mapped, G_N_ELEMENTS(kMap));
}
GST_END_TEST

#if GST_CHECK_VERSION(1, 26, 0)
// Whatever GStreamer itself maps, maps to the same here.
GST_START_TEST(test_upstream_map)
{
  guint theirs = 0;
  for (int i = 2; i < GST_VIDEO_FORMAT_LAST; ++i) {
    const auto format = static_cast<GstVideoFormat>(i);
    guint64 modifier = 1;
    const guint32 code = gst_video_dma_drm_format_from_gst_format(format, &modifier);
    if (code == 0)
      continue;
    ++theirs;
    guint64 our_modifier = 2;
    fail_unless(gst_drm_format_from_video_format(format, &our_modifier) == code && our_modifier == modifier,
                "%s: GStreamer says %s", gst_video_format_to_string(format),
                gstdrm::describe_format({code, modifier}).c_str());
  }
  fail_unless(theirs > 30);
}
GST_END_TEST
#endif

GST_START_TEST(test_no_mapping)
{
  fail_unless(gst_drm_format_to_video_format(fourcc("NV12"), G_GUINT64_CONSTANT(0x0100000000000002)) ==
              GST_VIDEO_FORMAT_UNKNOWN);
  fail_unless(gst_drm_format_to_video_format(fourcc("ZZZZ"), 0) == GST_VIDEO_FORMAT_UNKNOWN);
  fail_unless(gst_drm_format_to_video_format(0, 0) == GST_VIDEO_FORMAT_UNKNOWN);
  for (GstVideoFormat format : {GST_VIDEO_FORMAT_UNKNOWN, GST_VIDEO_FORMAT_ENCODED, GST_DRM_VIDEO_FORMAT_DMA_DRM,
                                GST_VIDEO_FORMAT_v210, GST_VIDEO_FORMAT_AYUV})
    fail_unless_equals_int(gst_drm_format_from_video_format(format, nullptr), 0);
}
GST_END_TEST

Suite *format_suite()
{
  Suite *suite = suite_create("format");
  TCase *tcase = tcase_create("format");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_text, 0, G_N_ELEMENTS(kTexts));
  tcase_add_test(tcase, test_no_text);
  tcase_add_test(tcase, test_programmer_mistakes);
  tcase_add_test(tcase, test_describe);
  tcase_add_loop_test(tcase, test_map, 0, G_N_ELEMENTS(kMap));
  tcase_add_loop_test(tcase, test_components, 0, G_N_ELEMENTS(kMap));
  tcase_add_loop_test(tcase, test_layout_agrees, 0, G_N_ELEMENTS(kMap));
  tcase_add_test(tcase, test_one_to_one);
  tcase_add_test(tcase, test_no_mapping);
#if GST_CHECK_VERSION(1, 26, 0)
  tcase_add_test(tcase, test_upstream_map);
#endif
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(format)
