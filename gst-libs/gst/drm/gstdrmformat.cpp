// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:gstdrmformat
 * @title: DRM formats
 * @short_description: fourcc and modifier, as text and as GstVideoFormat
 *
 * A pair of a DRM fourcc and a DRM format modifier says how a picture lies in memory. As text it is
 * `FOURCC` for linear, else `FOURCC:0x` and 16 hexadecimal digits. Any thread may call these
 * functions.
 */
#include "gstdrmformat.h"

#include "core/drm_facts.hpp"
#include "core/format.hpp"
#include "gstdrm-compat-private.h"
#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"

static_assert(GST_DRM_MODIFIER_LINEAR == gstdrm::kModLinear);
static_assert(GST_DRM_MODIFIER_IMPLICIT == gstdrm::kModImplicit);

namespace {

struct NamedFormat {
  GstVideoFormat format;
  guint32 fourcc;
  guint64 modifier = gstdrm::kModLinear;
};

// Words of 16 bits that GstVideoFormat keeps in the order of the machine.
constexpr guint32 kHost = G_BYTE_ORDER == G_BIG_ENDIAN ? gstdrm::kFourccBigEndian : 0;
constexpr guint32 kBe = gstdrm::kFourccBigEndian;

// One to one. A fourcc names a little-endian word, most significant component first; GstVideoFormat
// names packed 8-bit components in the order of their bytes, so the two read backwards.
constexpr NamedFormat kNamed[] = {
    {GST_VIDEO_FORMAT_I420, DRM_FORMAT_YUV420},
    {GST_VIDEO_FORMAT_YV12, DRM_FORMAT_YVU420},
    {GST_VIDEO_FORMAT_YUY2, DRM_FORMAT_YUYV},
    {GST_VIDEO_FORMAT_UYVY, DRM_FORMAT_UYVY},
    {GST_VIDEO_FORMAT_YVYU, DRM_FORMAT_YVYU},
    {GST_VIDEO_FORMAT_VYUY, DRM_FORMAT_VYUY},
    {GST_VIDEO_FORMAT_VUYA, DRM_FORMAT_AYUV},
    {GST_VIDEO_FORMAT_RGBx, DRM_FORMAT_XBGR8888},
    {GST_VIDEO_FORMAT_BGRx, DRM_FORMAT_XRGB8888},
    {GST_VIDEO_FORMAT_xRGB, DRM_FORMAT_BGRX8888},
    {GST_VIDEO_FORMAT_xBGR, DRM_FORMAT_RGBX8888},
    {GST_VIDEO_FORMAT_RGBA, DRM_FORMAT_ABGR8888},
    {GST_VIDEO_FORMAT_BGRA, DRM_FORMAT_ARGB8888},
    {GST_VIDEO_FORMAT_ARGB, DRM_FORMAT_BGRA8888},
    {GST_VIDEO_FORMAT_ABGR, DRM_FORMAT_RGBA8888},
    {GST_VIDEO_FORMAT_RGB, DRM_FORMAT_BGR888},
    {GST_VIDEO_FORMAT_BGR, DRM_FORMAT_RGB888},
    {GST_VIDEO_FORMAT_RGB16, DRM_FORMAT_RGB565 | kHost},
    {GST_VIDEO_FORMAT_BGR16, DRM_FORMAT_BGR565 | kHost},
    {GST_VIDEO_FORMAT_RGB15, DRM_FORMAT_XRGB1555 | kHost},
    {GST_VIDEO_FORMAT_BGR15, DRM_FORMAT_XBGR1555 | kHost},
    {GST_VIDEO_FORMAT_Y41B, DRM_FORMAT_YUV411},
    {GST_VIDEO_FORMAT_Y42B, DRM_FORMAT_YUV422},
    {GST_VIDEO_FORMAT_Y444, DRM_FORMAT_YUV444},
    {GST_VIDEO_FORMAT_YUV9, DRM_FORMAT_YUV410},
    {GST_VIDEO_FORMAT_YVU9, DRM_FORMAT_YVU410},
    {GST_VIDEO_FORMAT_NV12, DRM_FORMAT_NV12},
    {GST_VIDEO_FORMAT_NV21, DRM_FORMAT_NV21},
    {GST_VIDEO_FORMAT_NV16, DRM_FORMAT_NV16},
    {GST_VIDEO_FORMAT_NV61, DRM_FORMAT_NV61},
    {GST_VIDEO_FORMAT_NV24, DRM_FORMAT_NV24},
    {GST_VIDEO_FORMAT_GRAY8, DRM_FORMAT_R8},
    {GST_VIDEO_FORMAT_GRAY16_LE, DRM_FORMAT_R16},
    {GST_VIDEO_FORMAT_GRAY16_BE, DRM_FORMAT_R16 | kBe},
    {GST_VIDEO_FORMAT_GRAY10_LE32, gstdrm::kFourccYpa4},
    {GST_VIDEO_FORMAT_v308, DRM_FORMAT_VUY888},
    {GST_VIDEO_FORMAT_r210, DRM_FORMAT_XRGB2101010 | kBe},
    {GST_VIDEO_FORMAT_BGR10A2_LE, DRM_FORMAT_ARGB2101010},
    {GST_VIDEO_FORMAT_RGB10A2_LE, DRM_FORMAT_ABGR2101010},
    {GST_VIDEO_FORMAT_BGRA64_LE, DRM_FORMAT_ARGB16161616},
    {GST_VIDEO_FORMAT_RGBA64_LE, DRM_FORMAT_ABGR16161616},
    {GST_VIDEO_FORMAT_ARGB64_BE, DRM_FORMAT_ARGB16161616 | kBe},
    {GST_VIDEO_FORMAT_ABGR64_BE, DRM_FORMAT_ABGR16161616 | kBe},
    {GST_VIDEO_FORMAT_I420_10LE, gstdrm::kFourccS010},
    {GST_VIDEO_FORMAT_I422_10LE, gstdrm::kFourccS210},
    {GST_VIDEO_FORMAT_Y444_10LE, gstdrm::kFourccS410},
    {GST_VIDEO_FORMAT_I420_12LE, gstdrm::kFourccS012},
    {GST_VIDEO_FORMAT_I422_12LE, gstdrm::kFourccS212},
    {GST_VIDEO_FORMAT_Y444_12LE, gstdrm::kFourccS412},
    {GST_VIDEO_FORMAT_Y444_16LE, gstdrm::kFourccS416},
    {GST_VIDEO_FORMAT_P010_10LE, DRM_FORMAT_P010},
    {GST_VIDEO_FORMAT_P012_LE, DRM_FORMAT_P012},
    {GST_VIDEO_FORMAT_P016_LE, DRM_FORMAT_P016},
    {GST_VIDEO_FORMAT_NV12_10LE40, DRM_FORMAT_NV15},
    {GST_VIDEO_FORMAT_NV12_10LE32, DRM_FORMAT_P030},
    {GST_VIDEO_FORMAT_NV16_10LE32, gstdrm::kFourccP230},
    {GST_VIDEO_FORMAT_Y210, DRM_FORMAT_Y210},
    {GST_VIDEO_FORMAT_Y212_LE, DRM_FORMAT_Y212},
    {GST_VIDEO_FORMAT_Y410, DRM_FORMAT_Y410},
    {GST_VIDEO_FORMAT_Y412_LE, DRM_FORMAT_Y412},
    // tilings
    {GST_VIDEO_FORMAT_NV12_4L4, DRM_FORMAT_NV12, DRM_FORMAT_MOD_VIVANTE_TILED},
    {GST_VIDEO_FORMAT_NV12_64Z32, DRM_FORMAT_NV12, DRM_FORMAT_MOD_SAMSUNG_64_32_TILE},
    {GST_VIDEO_FORMAT_NV12_32L32, DRM_FORMAT_NV12, DRM_FORMAT_MOD_ALLWINNER_TILED},
    {GST_VIDEO_FORMAT_NV12_16L32S, DRM_FORMAT_NV12, gstdrm::kModMtk16L32S},
    GST_DRM_ROWS_SINCE_1_24(
        {GST_VIDEO_FORMAT_NV12_10LE40_4L4, DRM_FORMAT_NV15, DRM_FORMAT_MOD_VIVANTE_TILED},
        {GST_VIDEO_FORMAT_MT2110T, DRM_FORMAT_NV15, gstdrm::kModMtk16L32SLsbTiled},
        {GST_VIDEO_FORMAT_MT2110R, DRM_FORMAT_NV15, gstdrm::kModMtk16L32SLsbRaster}, )
        GST_DRM_ROWS_SINCE_1_26({GST_VIDEO_FORMAT_Y216_LE, DRM_FORMAT_Y216},
                                {GST_VIDEO_FORMAT_Y416_LE, DRM_FORMAT_Y416},
                                {GST_VIDEO_FORMAT_GRAY10_LE16, DRM_FORMAT_R10}, )
            GST_DRM_ROWS_SINCE_1_28({GST_VIDEO_FORMAT_NV16_10LE40, gstdrm::kFourccNv20},
                                    {GST_VIDEO_FORMAT_BGR10x2_LE, DRM_FORMAT_XRGB2101010},
                                    {GST_VIDEO_FORMAT_RGB10x2_LE, DRM_FORMAT_XBGR2101010}, )};

} // namespace

/**
 * gst_drm_format_parse:
 * @str: a drm-format string, such as `NV12` or `NV12:0x0100000000000002`
 * @fourcc: (out) (optional): the DRM fourcc
 * @modifier: (out) (optional): the modifier: %GST_DRM_MODIFIER_LINEAR where @str has none
 * @error: location for a #GError, or %NULL
 *
 * Reads a drm-format string: 4 printable ASCII characters, `_BE` for a big-endian format, then
 * nothing (linear) or `:0x` (or `:0X`) and 1 to 16 hexadecimal digits. A written linear or invalid
 * (implicit) modifier is refused. The outputs are left alone on failure.
 *
 * Returns: %FALSE with %GST_DRM_ERROR_FORMAT when @str is no drm-format; the message says what is
 *   wrong at which position.
 *
 * Since: 0.1
 */
gboolean gst_drm_format_parse(const gchar *str, guint32 *fourcc, guint64 *modifier,
                              GError **error) noexcept
try {
  g_return_val_if_fail(str != nullptr, FALSE);
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  const gstdrm::Result<gstdrm::Format> format = gstdrm::parse_format(str);
  if (!format) {
    gstdrm::propagate(error, format.error());
    return FALSE;
  }
  if (fourcc)
    *fourcc = format->fourcc;
  if (modifier)
    *modifier = format->modifier;
  return TRUE;
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}

/**
 * gst_drm_format_to_string:
 * @fourcc: a DRM fourcc
 * @modifier: a DRM format modifier
 *
 * Writes the canonical drm-format string: no modifier for linear, else 16 lower-case hexadecimal
 * digits.
 *
 * Returns: (transfer full) (nullable): the string; %NULL where there is none: for
 *   %GST_DRM_MODIFIER_IMPLICIT, and for a @fourcc that is not 4 printable ASCII characters.
 *
 * Since: 0.1
 */
gchar *gst_drm_format_to_string(guint32 fourcc, guint64 modifier) noexcept
{
  const gstdrm::FormatText text = gstdrm::format_to_text({fourcc, modifier});
  return text.length > 0 ? g_strndup(text.chars.data(), text.length) : nullptr;
}

/**
 * gst_drm_modifier_describe:
 * @modifier: a DRM format modifier
 *
 * A name for people, for logs and errors: `LINEAR`, `INTEL_X_TILED`, `AMD(GFX11,256K_R_X,…)`,
 * `IMPLICIT` for %GST_DRM_MODIFIER_IMPLICIT. What has no known name is the vendor and a number. The
 * text may change from release to release.
 *
 * Returns: (transfer full): the name, never empty
 *
 * Since: 0.1
 */
gchar *gst_drm_modifier_describe(guint64 modifier) noexcept
try {
  return g_strdup(gstdrm::describe_modifier(modifier).c_str());
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_format_to_video_format:
 * @fourcc: a DRM fourcc
 * @modifier: a DRM format modifier
 *
 * The GstVideoFormat that names exactly this layout: a linear one, or one of the tilings that
 * GstVideoFormat has names for.
 *
 * Returns: the format; %GST_VIDEO_FORMAT_UNKNOWN where there is none, and always for
 *   %GST_DRM_MODIFIER_IMPLICIT
 *
 * Since: 0.1
 */
GstVideoFormat gst_drm_format_to_video_format(guint32 fourcc, guint64 modifier) noexcept
{
  for (const NamedFormat &named : kNamed) {
    if (named.fourcc == fourcc && named.modifier == modifier)
      return named.format;
  }
  return GST_VIDEO_FORMAT_UNKNOWN;
}

/**
 * gst_drm_format_from_video_format:
 * @format: a #GstVideoFormat
 * @modifier: (out) (optional): the modifier: %GST_DRM_MODIFIER_LINEAR, or that of a tiling that
 * @format names; %GST_DRM_MODIFIER_IMPLICIT where there is none
 *
 * The pair that lies in memory as @format does. The inverse of gst_drm_format_to_video_format().
 *
 * Returns: the DRM fourcc; 0 where there is none
 *
 * Since: 0.1
 */
guint32 gst_drm_format_from_video_format(GstVideoFormat format, guint64 *modifier) noexcept
{
  for (const NamedFormat &named : kNamed) {
    if (named.format == format) {
      if (modifier)
        *modifier = named.modifier;
      return named.fourcc;
    }
  }
  if (modifier)
    *modifier = GST_DRM_MODIFIER_IMPLICIT;
  return 0;
}
