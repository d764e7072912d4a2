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
#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmformat.h"
#include "gstdrmvideoinfo-private.hpp"

#define GST_CAT_DEFAULT gstdrm::library_debug_category()

namespace gstdrm {

GstVideoFormat stand_in_format(const Format &format)
{
  GstVideoFormat named = gst_drm_format_to_video_format(format.fourcc, format.modifier);
  if (named == GST_VIDEO_FORMAT_UNKNOWN)
    named = gst_drm_format_to_video_format(format.fourcc, GST_DRM_MODIFIER_LINEAR);
  if (named == GST_VIDEO_FORMAT_UNKNOWN)
    named = fourcc_is_yuv(format.fourcc) ? GST_VIDEO_FORMAT_NV12 : GST_VIDEO_FORMAT_RGBx;
  return named;
}

void make_opaque(GstVideoInfo &vinfo)
{
  vinfo.finfo = gst_video_format_get_info(GST_DRM_VIDEO_FORMAT_DMA_DRM);
  vinfo.size = 0;
  for (int i = 0; i < GST_VIDEO_MAX_PLANES; ++i) {
    vinfo.offset[i] = 0;
    vinfo.stride[i] = 0;
  }
}

void fill_video_info(GstDrmVideoInfo *info, const GstVideoInfo &vinfo, const Format &pair)
{
  gst_drm_video_info_init(info);
  info->vinfo = vinfo;
  info->drm_fourcc = pair.fourcc;
  info->drm_modifier = pair.modifier;
}

} // namespace gstdrm

namespace {

using gstdrm::Format;

bool is_opaque(const GstVideoInfo &vinfo)
{
  return gstdrm::format_of(vinfo) == GST_DRM_VIDEO_FORMAT_DMA_DRM;
}

bool has_known_mode(const GstVideoInfo &vinfo)
{
  const gint mode = gstdrm::number_in(vinfo.interlace_mode);
  return mode >= GST_VIDEO_INTERLACE_MODE_PROGRESSIVE && mode <= GST_VIDEO_INTERLACE_MODE_ALTERNATE;
}

// What caps have words for; GStreamer says CRITICAL of anything else.
bool can_be_written(const GstVideoInfo &vinfo)
{
  const auto is_fraction = [](gint n, gint d) {
    return n >= -G_MAXINT && d >= -G_MAXINT && d != 0;
  };
  return GST_VIDEO_INFO_WIDTH(&vinfo) > 0 && GST_VIDEO_INFO_HEIGHT(&vinfo) > 0 &&
         is_fraction(GST_VIDEO_INFO_FPS_N(&vinfo), GST_VIDEO_INFO_FPS_D(&vinfo)) &&
         is_fraction(GST_VIDEO_INFO_PAR_N(&vinfo), GST_VIDEO_INFO_PAR_D(&vinfo)) &&
         has_known_mode(vinfo);
}

// Planes of `format` at the size of `vinfo`; everything else of `vinfo` is kept.
bool set_planes(GstVideoInfo &vinfo, GstVideoFormat format)
{
  GstVideoInfo layout;
  gst_video_info_init(&layout);
  if (!has_known_mode(vinfo) ||
      !gst_video_info_set_interlaced_format(&layout, format, GST_VIDEO_INFO_INTERLACE_MODE(&vinfo),
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

// Takes out of `caps`, written from `info` as `format`, what the caps of `info` did not have.
void drop_defaults(GstStructure *structure, const GstDrmVideoInfo &info, GstVideoFormat format)
{
  const guint32 fields = gstdrm::defaulted_fields(info);
  GstVideoInfo defaults;
  if (fields == 0 ||
      !gstdrm::default_video_info(defaults, format, GST_VIDEO_INFO_WIDTH(&info.vinfo),
                                  GST_VIDEO_INFO_HEIGHT(&info.vinfo)))
    return;
  if ((fields & gstdrm::kNoColorimetry) != 0 &&
      gst_video_colorimetry_is_equal(&defaults.colorimetry, &info.vinfo.colorimetry))
    gst_structure_remove_field(structure, "colorimetry");
  if ((fields & gstdrm::kNoChromaSite) != 0 && defaults.chroma_site == info.vinfo.chroma_site)
    gst_structure_remove_field(structure, "chroma-site");
}

} // namespace

bool gstdrm::default_video_info(GstVideoInfo &vinfo, GstVideoFormat format, gint width, gint height)
{
  const auto caps = gstdrm::GstPtr<GstCaps>::adopt(gst_caps_new_simple(
      "video/x-raw", "format", G_TYPE_STRING, gst_video_format_to_string(format), "width",
      G_TYPE_INT, width, "height", G_TYPE_INT, height, nullptr));
  gst_video_info_init(&vinfo);
  return gst_video_info_from_caps(&vinfo, caps.get());
}

GType gst_drm_video_info_get_type(void) noexcept
{
  static const GType type = g_boxed_type_register_static(
      "GstDrmVideoInfo", reinterpret_cast<GBoxedCopyFunc>(gst_drm_video_info_copy),
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
void gst_drm_video_info_init(GstDrmVideoInfo *info) noexcept
{
  g_return_if_fail(info != nullptr);

  *info = GstDrmVideoInfo{};
  gst_video_info_init(&info->vinfo);
  info->drm_modifier = GST_DRM_MODIFIER_IMPLICIT;
}

/**
 * gst_drm_video_info_new: (constructor)
 *
 * Makes an info without a format.
 *
 * Returns: (transfer full): a new #GstDrmVideoInfo, set as gst_drm_video_info_init() does
 *
 * Since: 0.1
 */
GstDrmVideoInfo *gst_drm_video_info_new(void) noexcept
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
guint32 gst_drm_video_info_get_fourcc(const GstDrmVideoInfo *info) noexcept
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
guint64 gst_drm_video_info_get_modifier(const GstDrmVideoInfo *info) noexcept
{
  g_return_val_if_fail(info != nullptr, GST_DRM_MODIFIER_IMPLICIT);

  return info->drm_modifier;
}

/**
 * gst_drm_video_info_copy:
 * @info: a #GstDrmVideoInfo
 *
 * Makes a copy on the heap.
 *
 * Returns: (transfer full): a copy of @info
 *
 * Since: 0.1
 */
GstDrmVideoInfo *gst_drm_video_info_copy(const GstDrmVideoInfo *info) noexcept
{
  g_return_val_if_fail(info != nullptr, nullptr);

  GstDrmVideoInfo *copy = g_new(GstDrmVideoInfo, 1);
  *copy = *info;
  return copy;
}

/**
 * gst_drm_video_info_free: (skip)
 * @info: (nullable) (transfer full): a #GstDrmVideoInfo
 *
 * Frees what gst_drm_video_info_new() and its kin made.
 *
 * Since: 0.1
 */
void gst_drm_video_info_free(GstDrmVideoInfo *info) noexcept
{
  g_free(info);
}

/**
 * gst_drm_video_info_to_caps:
 * @info: a #GstDrmVideoInfo
 *
 * Writes DMA_DRM caps, also for a linear format; for %GST_DRM_MODIFIER_IMPLICIT the caps have the
 * fourcc's GstVideoFormat and no drm-format. Of an info that was read from caps with an explicit
 * modifier that is not linear, colorimetry and chroma-site are left out where those caps did not
 * have them and they still are the defaults.
 *
 * Returns: (transfer full) (nullable): new fixed caps with the feature memory:DMABuf; %NULL where
 * @info has no valid fourcc, an implicit modifier and a fourcc that no GstVideoFormat names, or a
 * size, a rate or an interlace mode that caps have no words for
 *
 * Since: 0.1
 */
GstCaps *gst_drm_video_info_to_caps(const GstDrmVideoInfo *info) noexcept
try {
  g_return_val_if_fail(info != nullptr, nullptr);

  const Format pair{info->drm_fourcc, info->drm_modifier};
  if (!gstdrm::fourcc_is_valid(pair.fourcc)) {
    GST_DEBUG("no caps for an invalid fourcc: %s", gstdrm::fourcc_to_string(pair.fourcc).c_str());
    return nullptr;
  }
  const GstVideoFormat linear =
      gst_drm_format_to_video_format(pair.fourcc, GST_DRM_MODIFIER_LINEAR);
  if (pair.modifier == gstdrm::kModImplicit && linear == GST_VIDEO_FORMAT_UNKNOWN) {
    GST_DEBUG("no caps for %s: no GstVideoFormat names it", gstdrm::describe_format(pair).c_str());
    return nullptr;
  }

  GstVideoInfo vinfo = info->vinfo;
  if (!can_be_written(vinfo)) {
    GST_DEBUG("no caps for %dx%d, %d/%d frames a second, pixels of %d/%d and interlace mode %d",
              vinfo.width, vinfo.height, vinfo.fps_n, vinfo.fps_d, vinfo.par_n, vinfo.par_d,
              gstdrm::number_in(vinfo.interlace_mode));
    return nullptr;
  }
  vinfo.finfo = gst_video_format_get_info(gstdrm::stand_in_format(pair));
  GstCaps *caps = gst_video_info_to_caps(&vinfo);
  if (!caps)
    return nullptr;
  GstStructure *structure = gst_caps_get_structure(caps, 0);
  if (pair.modifier != gstdrm::kModImplicit)
    gst_structure_set(structure, "format", G_TYPE_STRING, "DMA_DRM", "drm-format", G_TYPE_STRING,
                      gstdrm::format_to_text(pair).chars.data(), nullptr);
  drop_defaults(structure, *info, GST_VIDEO_INFO_FORMAT(&vinfo));
  GstCapsFeatures *features = gst_caps_features_new_single(GST_CAPS_FEATURE_MEMORY_DMABUF);
  if (GST_VIDEO_INFO_INTERLACE_MODE(&vinfo) == GST_VIDEO_INTERLACE_MODE_ALTERNATE)
    gst_caps_features_add(features, GST_CAPS_FEATURE_FORMAT_INTERLACED);
  gst_caps_set_features(caps, 0, features);
  return caps;
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_video_info_from_video_info:
 * @info: a #GstDrmVideoInfo to fill
 * @vinfo: a #GstVideoInfo
 * @modifier: the modifier, %GST_DRM_MODIFIER_IMPLICIT included
 *
 * The video format of @vinfo, laid out in memory as @modifier says. Where @vinfo has a tiled
 * format,
 * @modifier has to be the modifier of that tiling.
 *
 * Returns: %FALSE where the format of @vinfo has no fourcc, or is a tiling other than @modifier
 *
 * Since: 0.1
 */
gboolean gst_drm_video_info_from_video_info(GstDrmVideoInfo *info, const GstVideoInfo *vinfo,
                                            guint64 modifier) noexcept
{
  g_return_val_if_fail(info != nullptr, FALSE);
  g_return_val_if_fail(vinfo != nullptr, FALSE);

  guint64 own_modifier = 0;
  const guint32 fourcc = gst_drm_format_from_video_format(gstdrm::format_of(*vinfo), &own_modifier);
  if (fourcc == 0)
    return FALSE;
  GstVideoInfo laid_out = *vinfo;
  if (modifier != own_modifier) {
    if (own_modifier != GST_DRM_MODIFIER_LINEAR)
      return FALSE;
    const GstVideoFormat named = gst_drm_format_to_video_format(fourcc, modifier);
    if (named == GST_VIDEO_FORMAT_UNKNOWN)
      gstdrm::make_opaque(laid_out);
    else if (!set_planes(laid_out, named))
      return FALSE;
  }
  gstdrm::fill_video_info(info, laid_out, {fourcc, modifier});
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
gboolean gst_drm_video_info_to_video_info(const GstDrmVideoInfo *info, GstVideoInfo *vinfo) noexcept
{
  g_return_val_if_fail(info != nullptr, FALSE);
  g_return_val_if_fail(vinfo != nullptr, FALSE);

  GstVideoInfo plain = info->vinfo;
  if (is_opaque(plain)) {
    const GstVideoFormat linear =
        gst_drm_format_to_video_format(info->drm_fourcc, GST_DRM_MODIFIER_LINEAR);
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
 * Compares two infos.
 *
 * Returns: %TRUE where fourcc, modifier and #GstVideoInfo are equal
 *
 * Since: 0.1
 */
gboolean gst_drm_video_info_is_equal(const GstDrmVideoInfo *a, const GstDrmVideoInfo *b) noexcept
{
  g_return_val_if_fail(a != nullptr, FALSE);
  g_return_val_if_fail(b != nullptr, FALSE);

  if (a->drm_fourcc != b->drm_fourcc || a->drm_modifier != b->drm_modifier)
    return FALSE;
  if (!a->vinfo.finfo || !b->vinfo.finfo)
    return a->vinfo.finfo == b->vinfo.finfo; // zeroed, never filled
  return gst_video_info_is_equal(&a->vinfo, &b->vinfo);
}
