// SPDX-License-Identifier: LGPL-2.1-or-later
// GstDrmVideoInfo read from caps, with the reason where they are none.
#include <string>

#include <gst/allocators/gstdmabuf.h>

#include "core/format.hpp"
#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmcaps-private.hpp"
#include "gstdrmformat.h"
#include "gstdrmvideoinfo-private.hpp"
#include "gstdrmvideoinfo.h"

#define GST_CAT_DEFAULT gstdrm::library_debug_category()

namespace {

using gstdrm::Error;
using gstdrm::ErrorCode;
using gstdrm::Format;
using gstdrm::GstPtr;
using gstdrm::Result;

Error bad_caps(const GstCaps *caps, const std::string &why)
{
  std::string shown = gstdrm::caps_text(caps);
  constexpr std::size_t kLongest = 400; // a list of hundreds of formats says nothing in an error
  if (shown.size() > kLongest)
    shown = shown.substr(0, kLongest) + " …";
  return Error{ErrorCode::Caps, "Caps \"" + shown + "\" are no video format of DMA buffers: " + why,
               0};
}

Result<void> check_fixed(const GstCaps *caps)
{
  if (gst_caps_is_any(caps) || gst_caps_is_empty(caps))
    return bad_caps(caps, "expected exactly one structure");
  if (gst_caps_get_size(caps) != 1)
    return bad_caps(caps, "expected exactly one structure, got " +
                              std::to_string(gst_caps_get_size(caps)));
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
    if (g_str_has_prefix(name, "memory:") &&
        !g_str_equal(name, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY) &&
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
      return bad_caps(caps, has_drm_format ? "drm-format is no string"
                                           : "format=DMA_DRM without drm-format");
    Result<Format> pair = gstdrm::parse_format(text);
    return pair ? pair : bad_caps(caps, pair.error().message);
  }

  if (has_drm_format)
    return bad_caps(caps,
                    std::string("drm-format next to format=") + name + ", expected format=DMA_DRM");
  Format pair;
  pair.fourcc =
      gst_drm_format_from_video_format(gst_video_format_from_string(name), &pair.modifier);
  if (pair.fourcc == 0)
    return bad_caps(caps, std::string("no DRM fourcc for format=") + name);
  if (dmabuf && pair.modifier == gstdrm::kModLinear)
    pair.modifier = gstdrm::kModImplicit;
  return pair;
}

// GStreamer warns of a mode that it does not know, and goes on without.
void drop_unknown_multiview_mode(GstStructure *structure)
{
  const gchar *mode = gst_structure_get_string(structure, "multiview-mode");
  if (!mode)
    return;
  auto *modes = static_cast<GEnumClass *>(g_type_class_ref(GST_TYPE_VIDEO_MULTIVIEW_MODE));
  const GEnumValue *known = g_enum_get_value_by_nick(modes, mode);
  if (!known || known->value == GST_VIDEO_MULTIVIEW_MODE_NONE)
    gst_structure_remove_field(structure, "multiview-mode");
  g_type_class_unref(modes);
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
  gst_structure_set(structure, "format", G_TYPE_STRING,
                    gst_video_format_to_string(gstdrm::stand_in_format(pair)), nullptr);
  gst_structure_remove_field(structure, "drm-format");
  drop_unknown_multiview_mode(structure);

  // The caps feature is what keeps fields away from those who would take them for frames.
  if (g_strcmp0(gst_structure_get_string(structure, "interlace-mode"), "alternate") == 0 &&
      !gst_caps_features_contains(gst_caps_get_features(caps, 0),
                                  GST_CAPS_FEATURE_FORMAT_INTERLACED))
    return bad_caps(
        caps,
        "interlace-mode=alternate without the caps feature " GST_CAPS_FEATURE_FORMAT_INTERLACED);

  GstVideoInfo vinfo;
  gst_video_info_init(&vinfo);
  if (!gst_video_info_from_caps(&vinfo, plain.get()))
    return bad_caps(
        caps, "GStreamer cannot read the remaining fields, see the debug category video-info");
  // set_default_colorimetry() has both: GStreamer 1.22 forgets the chroma-site of the caps where
  // they have no colorimetry, and gives none by default where they have one.
  if (const gchar *site = gst_structure_get_string(structure, "chroma-site")) {
    if (const auto read = gst_video_chroma_site_from_string(site))
      vinfo.chroma_site = read;
  } else if (vinfo.chroma_site == GST_VIDEO_CHROMA_SITE_UNKNOWN &&
             gst_structure_has_field(structure, "colorimetry")) {
    gst_structure_remove_field(structure, "colorimetry");
    GstVideoInfo defaults;
    gst_video_info_init(&defaults);
    if (gst_video_info_from_caps(&defaults, plain.get()))
      vinfo.chroma_site = defaults.chroma_site;
  }
  if (gst_drm_format_to_video_format(pair.fourcc, pair.modifier) == GST_VIDEO_FORMAT_UNKNOWN)
    gstdrm::make_opaque(vinfo);
  return vinfo;
}

// As upstream's gst_video_info_dma_drm_from_caps(), which gives a linear format its defaults and
// any other none.
guint32 defaulted_fields_of(const GstCaps *caps, const Format &pair)
{
  if (pair.modifier == gstdrm::kModLinear || pair.modifier == gstdrm::kModImplicit)
    return 0;
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  return (gst_structure_has_field(structure, "colorimetry") ? 0 : gstdrm::kNoColorimetry) |
         (gst_structure_has_field(structure, "chroma-site") ? 0 : gstdrm::kNoChromaSite);
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
  gstdrm::fill_video_info(info, *vinfo, *pair);
  gstdrm::defaulted_fields(*info) = defaulted_fields_of(caps, *pair);
  return {};
}

} // namespace

/**
 * gst_drm_video_info_new_from_caps: (constructor)
 * @caps: fixed #GstCaps
 *
 * See gst_drm_video_info_from_caps().
 *
 * Returns: (transfer full) (nullable): a new #GstDrmVideoInfo; %NULL where @caps are no video
 * format of DMA buffers
 *
 * Since: 0.1
 */
GstDrmVideoInfo *gst_drm_video_info_new_from_caps(const GstCaps *caps) noexcept
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
 * - plain `video/x-raw, format=<GstVideoFormat>`: %GST_DRM_MODIFIER_LINEAR, or the modifier of a
 * tiling that the format names.
 *
 * @info is left alone on failure. gst_drm_video_info_from_caps_full() says why it failed.
 *
 * Returns: %FALSE where @caps are not fixed or no video format of DMA buffers
 *
 * Since: 0.1
 */
gboolean gst_drm_video_info_from_caps(GstDrmVideoInfo *info, const GstCaps *caps) noexcept
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
 * Returns: %FALSE with %GST_DRM_ERROR_CAPS where @caps are not fixed or no video format of DMA
 * buffers
 *
 * Since: 0.1
 */
gboolean gst_drm_video_info_from_caps_full(GstDrmVideoInfo *info, const GstCaps *caps,
                                           GError **error) noexcept
try {
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
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}

/**
 * gst_drm_is_dma_drm_caps:
 * @caps: #GstCaps
 *
 * Tells caps that carry a drm-format from others.
 *
 * Returns: %TRUE where @caps are fixed and have the feature memory:DMABuf and `format=DMA_DRM`;
 * whether their drm-format is one is not looked at
 *
 * Since: 0.1
 */
gboolean gst_drm_is_dma_drm_caps(const GstCaps *caps) noexcept
{
  g_return_val_if_fail(GST_IS_CAPS(caps), FALSE);

  if (!gst_caps_is_fixed(caps) ||
      !gst_caps_features_contains(gst_caps_get_features(caps, 0), GST_CAPS_FEATURE_MEMORY_DMABUF))
    return FALSE;
  return g_strcmp0(gst_structure_get_string(gst_caps_get_structure(caps, 0), "format"),
                   "DMA_DRM") == 0;
}
