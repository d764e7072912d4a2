// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:gstdrmvideoinfo
 * @title: GstDrmVideoInfo
 * @short_description: a video format of DMA buffers
 *
 * #GstVideoInfo with a DRM fourcc and modifier. For a layout that GstVideoFormat has a name for
 * (linear, and a few tilings) the #GstVideoInfo keeps that format with its planes; for any other it
 * is %GST_DRM_VIDEO_FORMAT_DMA_DRM, which has no planes. In language bindings make one with
 * gst_drm_video_info_new(), then fill it. Defaults, colorimetry among them, follow the
 * fourcc in both cases. Results do not depend on the version of GStreamer.
 */
#include "gstdrmvideoinfo.h"

#include <string>

#include <gst/allocators/gstdmabuf.h>

#include "core/format.hpp"
#include "gstdrm-compat-private.h"
#include "gstdrm-private.hpp"
#include "gstdrmformat.h"

#define GST_CAT_DEFAULT gstdrm::library_debug_category()

namespace {

using gstdrm::Error;
using gstdrm::ErrorCode;
using gstdrm::Format;
using gstdrm::GstPtr;
using gstdrm::Result;

// What GStreamer is told to parse or print in place of an opaque layout: the fourcc's linear format;
// for a fourcc without a name one of the same colour model, which is all that defaults depend on.
GstVideoFormat stand_in_format(const Format &format)
{
  GstVideoFormat named = gst_drm_format_to_video_format(format.fourcc, format.modifier);
  if (named == GST_VIDEO_FORMAT_UNKNOWN)
    named = gst_drm_format_to_video_format(format.fourcc, GST_DRM_MODIFIER_LINEAR);
  if (named == GST_VIDEO_FORMAT_UNKNOWN)
    named = gstdrm::fourcc_is_yuv(format.fourcc) ? GST_VIDEO_FORMAT_NV12 : GST_VIDEO_FORMAT_RGBx;
  return named;
}

bool is_opaque(const GstVideoInfo &vinfo)
{
  return GST_VIDEO_INFO_FORMAT(&vinfo) == GST_DRM_VIDEO_FORMAT_DMA_DRM;
}

// Keeps all but the format and what follows from it.
void make_opaque(GstVideoInfo &vinfo)
{
  vinfo.finfo = gst_video_format_get_info(GST_DRM_VIDEO_FORMAT_DMA_DRM);
  vinfo.size = 0;
  for (int i = 0; i < GST_VIDEO_MAX_PLANES; ++i) {
    vinfo.offset[i] = 0;
    vinfo.stride[i] = 0;
  }
}

// Planes of `format` at the size of `vinfo`; everything else of `vinfo` is kept.
bool set_planes(GstVideoInfo &vinfo, GstVideoFormat format)
{
  GstVideoInfo layout;
  gst_video_info_init(&layout);
  if (!gst_video_info_set_interlaced_format(&layout, format, GST_VIDEO_INFO_INTERLACE_MODE(&vinfo),
                                            static_cast<guint>(GST_VIDEO_INFO_WIDTH(&vinfo)),
                                            static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&vinfo))))
    return false;
  vinfo.finfo = layout.finfo;
  vinfo.size = layout.size;
  for (int i = 0; i < GST_VIDEO_MAX_PLANES; ++i) {
    vinfo.offset[i] = layout.offset[i];
    vinfo.stride[i] = layout.stride[i];
  }
  return true;
}

Error bad_caps(const GstCaps *caps, const std::string &why)
{
  gchar *text = gst_caps_to_string(caps);
  std::string shown = text;
  g_free(text);
  constexpr std::size_t kLongest = 400; // a list of hundreds of formats says nothing in an error
  if (shown.size() > kLongest)
    shown = shown.substr(0, kLongest) + " …";
  return Error{ErrorCode::Caps, "Caps \"" + shown + "\" are no video format of DMA buffers: " + why, 0};
}

Result<void> check_fixed(const GstCaps *caps)
{
  if (gst_caps_is_any(caps) || gst_caps_is_empty(caps))
    return bad_caps(caps, "expected exactly one structure");
  if (gst_caps_get_size(caps) != 1)
    return bad_caps(caps, "expected exactly one structure, got " + std::to_string(gst_caps_get_size(caps)));
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  for (gint i = 0; i < gst_structure_n_fields(structure); ++i) {
    const gchar *field = gst_structure_nth_field_name(structure, static_cast<guint>(i));
    if (!gst_value_is_fixed(gst_structure_get_value(structure, field)))
      return bad_caps(caps, std::string("field ") + field + " is not fixed");
  }
  if (gst_caps_features_is_any(gst_caps_get_features(caps, 0)))
    return bad_caps(caps, "the caps features are ANY");
  if (!gst_structure_has_name(structure, "video/x-raw"))
    return bad_caps(caps, std::string("the media type is ") + gst_structure_get_name(structure) +
                              ", expected video/x-raw");
  return {};
}

// The one memory feature that is neither system memory nor DMABuf, if any.
const gchar *foreign_memory(const GstCapsFeatures *features)
{
  for (guint i = 0; i < gst_caps_features_get_size(features); ++i) {
    const gchar *name = gst_caps_features_get_nth(features, i);
    if (g_str_has_prefix(name, "memory:") && !g_str_equal(name, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY) &&
        !g_str_equal(name, GST_CAPS_FEATURE_MEMORY_DMABUF))
      return name;
  }
  return nullptr;
}

// The pair that fixed caps stand for, in any of their three forms: DMA_DRM; memory:DMABuf with a
// GstVideoFormat (implicit modifier); plain video/x-raw (linear).
Result<Format> pair_of_caps(const GstCaps *caps)
{
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  const GstCapsFeatures *features = gst_caps_get_features(caps, 0);
  const bool dmabuf = gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_DMABUF);
  const gchar *name = gst_structure_get_string(structure, "format");
  const bool has_drm_format = gst_structure_has_field(structure, "drm-format");
  if (const gchar *memory = foreign_memory(features))
    return bad_caps(caps, std::string(memory) + " is not memory of DMA buffers");
  if (!name)
    return bad_caps(caps, "no format");
  if (has_drm_format && !dmabuf)
    return bad_caps(caps, "drm-format without the caps feature memory:DMABuf");

  if (g_str_equal(name, "DMA_DRM")) {
    if (!dmabuf)
      return bad_caps(caps, "format=DMA_DRM without the caps feature memory:DMABuf");
    const gchar *text = gst_structure_get_string(structure, "drm-format");
    if (!text)
      return bad_caps(caps, has_drm_format ? "drm-format is no string" : "format=DMA_DRM without drm-format");
    Result<Format> pair = gstdrm::parse_format(text);
    return pair ? pair : bad_caps(caps, pair.error().message);
  }

  if (has_drm_format)
    return bad_caps(caps, std::string("drm-format next to format=") + name + ", expected format=DMA_DRM");
  Format pair;
  pair.fourcc = gst_drm_format_from_video_format(gst_video_format_from_string(name), &pair.modifier);
  if (pair.fourcc == 0)
    return bad_caps(caps, std::string("no DRM fourcc for format=") + name);
  if (dmabuf && pair.modifier == gstdrm::kModLinear)
    pair.modifier = gstdrm::kModImplicit;
  return pair;
}

Result<GstVideoInfo> parse_vinfo(const GstCaps *caps, const Format &pair)
{
  for (const char *field : {"width", "height"}) {
    gint size = 0;
    if (!gst_structure_get_int(gst_caps_get_structure(caps, 0), field, &size))
      return bad_caps(caps, std::string("no ") + field);
    if (size <= 0)
      return bad_caps(caps, std::string(field) + " is " + std::to_string(size));
  }
  const auto plain = GstPtr<GstCaps>::adopt(gst_caps_copy(caps));
  GstStructure *structure = gst_caps_get_structure(plain.get(), 0);
  gst_structure_set(structure, "format", G_TYPE_STRING, gst_video_format_to_string(stand_in_format(pair)), nullptr);
  gst_structure_remove_field(structure, "drm-format");

  GstVideoInfo vinfo;
  gst_video_info_init(&vinfo);
  if (!gst_video_info_from_caps(&vinfo, plain.get()))
    return bad_caps(caps, "GStreamer cannot read the remaining fields, see the debug category video-info");
  if (gst_drm_format_to_video_format(pair.fourcc, pair.modifier) == GST_VIDEO_FORMAT_UNKNOWN)
    make_opaque(vinfo);
  return vinfo;
}

void fill(GstDrmVideoInfo *info, const GstVideoInfo &vinfo, const Format &pair)
{
  gst_drm_video_info_init(info);
  info->vinfo = vinfo;
  info->drm_fourcc = pair.fourcc;
  info->drm_modifier = pair.modifier;
}

Result<void> from_caps(GstDrmVideoInfo *info, const GstCaps *caps)
{
  const Result<void> fixed = check_fixed(caps);
  if (!fixed)
    return fixed.error();
  const Result<Format> pair = pair_of_caps(caps);
  if (!pair)
    return pair.error();
  const Result<GstVideoInfo> vinfo = parse_vinfo(caps, *pair);
  if (!vinfo)
    return vinfo.error();
  fill(info, *vinfo, *pair);
  return {};
}

} // namespace

GType gst_drm_video_info_get_type(void)
{
  static const GType type =
      g_boxed_type_register_static("GstDrmVideoInfo", reinterpret_cast<GBoxedCopyFunc>(gst_drm_video_info_copy),
                                   reinterpret_cast<GBoxedFreeFunc>(gst_drm_video_info_free));
  return type;
}

/**
 * gst_drm_video_info_init:
 * @info: a #GstDrmVideoInfo to fill
 *
 * Sets @info to no format: fourcc 0, %GST_DRM_MODIFIER_IMPLICIT.
 *
 * Since: 0.1
 */
void gst_drm_video_info_init(GstDrmVideoInfo *info)
{
  g_return_if_fail(info != nullptr);

  *info = GstDrmVideoInfo{};
  gst_video_info_init(&info->vinfo);
  info->drm_modifier = GST_DRM_MODIFIER_IMPLICIT;
}

/**
 * gst_drm_video_info_new: (constructor)
 *
 * Returns: (transfer full): a new #GstDrmVideoInfo, set as gst_drm_video_info_init() does
 *
 * Since: 0.1
 */
GstDrmVideoInfo *gst_drm_video_info_new(void)
{
  GstDrmVideoInfo *info = g_new(GstDrmVideoInfo, 1);
  gst_drm_video_info_init(info);
  return info;
}

/**
 * gst_drm_video_info_get_fourcc:
 * @info: a #GstDrmVideoInfo
 *
 * The field drm_fourcc, for language bindings, to which the size of #GstVideoInfo is not known.
 *
 * Returns: the DRM fourcc; 0 while unset
 *
 * Since: 0.1
 */
guint32 gst_drm_video_info_get_fourcc(const GstDrmVideoInfo *info)
{
  g_return_val_if_fail(info != nullptr, 0);

  return info->drm_fourcc;
}

/**
 * gst_drm_video_info_get_modifier:
 * @info: a #GstDrmVideoInfo
 *
 * The field drm_modifier, for language bindings.
 *
 * Returns: the modifier, %GST_DRM_MODIFIER_IMPLICIT included
 *
 * Since: 0.1
 */
guint64 gst_drm_video_info_get_modifier(const GstDrmVideoInfo *info)
{
  g_return_val_if_fail(info != nullptr, GST_DRM_MODIFIER_IMPLICIT);

  return info->drm_modifier;
}

/**
 * gst_drm_video_info_copy:
 * @info: a #GstDrmVideoInfo
 *
 * Returns: (transfer full): a copy of @info
 *
 * Since: 0.1
 */
GstDrmVideoInfo *gst_drm_video_info_copy(const GstDrmVideoInfo *info)
{
  g_return_val_if_fail(info != nullptr, nullptr);

  GstDrmVideoInfo *copy = g_new(GstDrmVideoInfo, 1);
  *copy = *info;
  return copy;
}

/**
 * gst_drm_video_info_free:
 * @info: (nullable) (transfer full): a #GstDrmVideoInfo
 *
 * Frees what gst_drm_video_info_new() and its kin made.
 *
 * Since: 0.1
 */
void gst_drm_video_info_free(GstDrmVideoInfo *info)
{
  g_free(info);
}

/**
 * gst_drm_video_info_new_from_caps: (constructor)
 * @caps: fixed #GstCaps
 *
 * See gst_drm_video_info_from_caps().
 *
 * Returns: (transfer full) (nullable): a new #GstDrmVideoInfo; %NULL where @caps are no video format of
 *   DMA buffers
 *
 * Since: 0.1
 */
GstDrmVideoInfo *gst_drm_video_info_new_from_caps(const GstCaps *caps)
{
  g_return_val_if_fail(GST_IS_CAPS(caps), nullptr);

  GstDrmVideoInfo *info = gst_drm_video_info_new();
  if (!gst_drm_video_info_from_caps(info, caps)) {
    gst_drm_video_info_free(info);
    return nullptr;
  }
  return info;
}

/**
 * gst_drm_video_info_from_caps:
 * @info: a #GstDrmVideoInfo to fill
 * @caps: fixed #GstCaps
 *
 * Reads caps in any of three forms:
 *
 * - `video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=…`: the pair that drm-format says;
 * - `video/x-raw(memory:DMABuf), format=<GstVideoFormat>` without drm-format:
 *   %GST_DRM_MODIFIER_IMPLICIT, or the modifier of a tiling that the format names;
 * - plain `video/x-raw, format=<GstVideoFormat>`: %GST_DRM_MODIFIER_LINEAR, or the modifier of a tiling
 *   that the format names.
 *
 * @info is left alone on failure. gst_drm_video_info_from_caps_full() says why it failed.
 *
 * Returns: %FALSE where @caps are not fixed or no video format of DMA buffers
 *
 * Since: 0.1
 */
gboolean gst_drm_video_info_from_caps(GstDrmVideoInfo *info, const GstCaps *caps)
{
  return gst_drm_video_info_from_caps_full(info, caps, nullptr);
}

/**
 * gst_drm_video_info_from_caps_full:
 * @info: a #GstDrmVideoInfo to fill
 * @caps: fixed #GstCaps
 * @error: location for a #GError, or %NULL
 *
 * As gst_drm_video_info_from_caps(), and says what is wrong.
 *
 * Returns: %FALSE with %GST_DRM_ERROR_CAPS where @caps are not fixed or no video format of DMA buffers
 *
 * Since: 0.1
 */
gboolean gst_drm_video_info_from_caps_full(GstDrmVideoInfo *info, const GstCaps *caps, GError **error)
{
  g_return_val_if_fail(info != nullptr, FALSE);
  g_return_val_if_fail(GST_IS_CAPS(caps), FALSE);
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  const Result<void> result = from_caps(info, caps);
  if (!result) {
    GST_DEBUG("%s", result.error().message.c_str());
    gstdrm::propagate(error, result.error());
    return FALSE;
  }
  return TRUE;
}

/**
 * gst_drm_video_info_to_caps:
 * @info: a #GstDrmVideoInfo
 *
 * Writes DMA_DRM caps, also for a linear format; for %GST_DRM_MODIFIER_IMPLICIT the caps have the
 * fourcc's GstVideoFormat and no drm-format.
 *
 * Returns: (transfer full) (nullable): new fixed caps with the feature memory:DMABuf; %NULL where @info
 *   has no valid fourcc, or an implicit modifier and a fourcc that no GstVideoFormat names
 *
 * Since: 0.1
 */
GstCaps *gst_drm_video_info_to_caps(const GstDrmVideoInfo *info)
{
  g_return_val_if_fail(info != nullptr, nullptr);

  const Format pair{info->drm_fourcc, info->drm_modifier};
  if (!gstdrm::fourcc_is_valid(pair.fourcc)) {
    GST_DEBUG("no caps for an invalid fourcc: %s", gstdrm::fourcc_to_string(pair.fourcc).c_str());
    return nullptr;
  }
  const GstVideoFormat linear = gst_drm_format_to_video_format(pair.fourcc, GST_DRM_MODIFIER_LINEAR);
  if (pair.modifier == gstdrm::kModImplicit && linear == GST_VIDEO_FORMAT_UNKNOWN) {
    GST_DEBUG("no caps for %s: no GstVideoFormat names it", gstdrm::describe_format(pair).c_str());
    return nullptr;
  }

  GstVideoInfo vinfo = info->vinfo;
  vinfo.finfo = gst_video_format_get_info(stand_in_format(pair));
  GstCaps *caps = gst_video_info_to_caps(&vinfo);
  if (!caps)
    return nullptr;
  GstStructure *structure = gst_caps_get_structure(caps, 0);
  if (pair.modifier != gstdrm::kModImplicit)
    gst_structure_set(structure, "format", G_TYPE_STRING, "DMA_DRM", "drm-format", G_TYPE_STRING,
                      std::string(gstdrm::format_to_text(pair).view()).c_str(), nullptr);
  GstCapsFeatures *features = gst_caps_features_new_single(GST_CAPS_FEATURE_MEMORY_DMABUF);
  if (GST_VIDEO_INFO_INTERLACE_MODE(&vinfo) == GST_VIDEO_INTERLACE_MODE_ALTERNATE)
    gst_caps_features_add(features, GST_CAPS_FEATURE_FORMAT_INTERLACED);
  gst_caps_set_features(caps, 0, features);
  return caps;
}

/**
 * gst_drm_video_info_from_video_info:
 * @info: a #GstDrmVideoInfo to fill
 * @vinfo: a #GstVideoInfo
 * @modifier: the modifier, %GST_DRM_MODIFIER_IMPLICIT included
 *
 * The video format of @vinfo, laid out in memory as @modifier says. Where @vinfo has a tiled format,
 * @modifier has to be the modifier of that tiling.
 *
 * Returns: %FALSE where the format of @vinfo has no fourcc, or is a tiling other than @modifier
 *
 * Since: 0.1
 */
gboolean gst_drm_video_info_from_video_info(GstDrmVideoInfo *info, const GstVideoInfo *vinfo, guint64 modifier)
{
  g_return_val_if_fail(info != nullptr, FALSE);
  g_return_val_if_fail(vinfo != nullptr, FALSE);

  guint64 own_modifier = 0;
  const guint32 fourcc = gst_drm_format_from_video_format(GST_VIDEO_INFO_FORMAT(vinfo), &own_modifier);
  if (fourcc == 0)
    return FALSE;
  GstVideoInfo laid_out = *vinfo;
  if (modifier != own_modifier) {
    if (own_modifier != GST_DRM_MODIFIER_LINEAR)
      return FALSE;
    const GstVideoFormat named = gst_drm_format_to_video_format(fourcc, modifier);
    if (named == GST_VIDEO_FORMAT_UNKNOWN)
      make_opaque(laid_out);
    else if (!set_planes(laid_out, named))
      return FALSE;
  }
  fill(info, laid_out, {fourcc, modifier});
  return TRUE;
}

/**
 * gst_drm_video_info_to_video_info:
 * @info: a #GstDrmVideoInfo
 * @vinfo: a #GstVideoInfo to fill
 *
 * The same video format without DMA buffers. For an opaque layout @vinfo gets the fourcc's linear
 * GstVideoFormat with its default planes, which say nothing of the DMA buffer's own.
 *
 * Returns: %FALSE where no GstVideoFormat names the fourcc
 *
 * Since: 0.1
 */
gboolean gst_drm_video_info_to_video_info(const GstDrmVideoInfo *info, GstVideoInfo *vinfo)
{
  g_return_val_if_fail(info != nullptr, FALSE);
  g_return_val_if_fail(vinfo != nullptr, FALSE);

  GstVideoInfo plain = info->vinfo;
  if (is_opaque(plain)) {
    const GstVideoFormat linear = gst_drm_format_to_video_format(info->drm_fourcc, GST_DRM_MODIFIER_LINEAR);
    if (linear == GST_VIDEO_FORMAT_UNKNOWN || !set_planes(plain, linear))
      return FALSE;
  }
  *vinfo = plain;
  return TRUE;
}

/**
 * gst_drm_video_info_is_equal:
 * @a: a #GstDrmVideoInfo
 * @b: a #GstDrmVideoInfo
 *
 * Returns: %TRUE where fourcc, modifier and #GstVideoInfo are equal
 *
 * Since: 0.1
 */
gboolean gst_drm_video_info_is_equal(const GstDrmVideoInfo *a, const GstDrmVideoInfo *b)
{
  g_return_val_if_fail(a != nullptr, FALSE);
  g_return_val_if_fail(b != nullptr, FALSE);

  return a->drm_fourcc == b->drm_fourcc && a->drm_modifier == b->drm_modifier &&
         gst_video_info_is_equal(&a->vinfo, &b->vinfo);
}

/**
 * gst_drm_is_dma_drm_caps:
 * @caps: #GstCaps
 *
 * Returns: %TRUE where @caps are fixed and have the feature memory:DMABuf and `format=DMA_DRM`; whether
 *   their drm-format is one is not looked at
 *
 * Since: 0.1
 */
gboolean gst_drm_is_dma_drm_caps(const GstCaps *caps)
{
  g_return_val_if_fail(GST_IS_CAPS(caps), FALSE);

  if (!gst_caps_is_fixed(caps) ||
      !gst_caps_features_contains(gst_caps_get_features(caps, 0), GST_CAPS_FEATURE_MEMORY_DMABUF))
    return FALSE;
  return g_strcmp0(gst_structure_get_string(gst_caps_get_structure(caps, 0), "format"), "DMA_DRM") == 0;
}
