// SPDX-License-Identifier: LGPL-2.1-or-later
// Format sets as caps, and back.
#include <vector>

#include <gst/allocators/gstdmabuf.h>
#include <gst/video/video.h>

#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmcaps-strings.hpp"
#include "gstdrmformat.h"
#include "gstdrmformatset-private.hpp"

#define GST_CAT_DEFAULT gstdrm::library_debug_category()

using gstdrm::Format;
using gstdrm::FormatSet;

namespace {

// Adds a GstVideoFormat of memory:DMABuf caps without drm-format: the implicit modifier, or the one
// that the format itself names.
void add_video_format(const gchar *name, std::vector<Format> &pairs)
{
  Format pair;
  pair.fourcc =
      gst_drm_format_from_video_format(gst_video_format_from_string(name), &pair.modifier);
  if (pair.fourcc == 0) {
    GST_DEBUG("no DRM fourcc for format %s, left out", name);
    return;
  }
  if (pair.modifier == gstdrm::kModLinear)
    pair.modifier = gstdrm::kModImplicit;
  pairs.push_back(pair);
}

// False: the structure takes any pair.
bool collect_structure(const GstStructure *structure, std::vector<Format> &pairs)
{
  const GValue *drm_formats = gst_structure_get_value(structure, "drm-format");
  const GValue *formats = gst_structure_get_value(structure, "format");
  bool any_pair = formats == nullptr;
  std::vector<const gchar *> names;
  if (formats) {
    gstdrm::for_each_string(formats, [&](const gchar *name) {
      if (g_str_equal(name, "DMA_DRM"))
        any_pair = true;
      else
        names.push_back(name);
    });
  }
  if (drm_formats) {
    if (any_pair)
      gstdrm::collect_drm_formats(drm_formats, pairs);
    return true;
  }
  for (const gchar *name : names)
    add_video_format(name, pairs);
  return !any_pair;
}

bool may_be_dmabuf(const GstCaps *caps, guint index)
{
  const GstCapsFeatures *features = gst_caps_get_features(caps, index);
  return gst_structure_has_name(gst_caps_get_structure(caps, index), "video/x-raw") &&
         (gst_caps_features_is_any(features) ||
          gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_DMABUF));
}

// GstVideoFormats of the linear layouts of these fourccs; those without a name are left out.
std::vector<const gchar *> linear_names(const FormatSet &set, guint64 modifier)
{
  std::vector<const gchar *> names;
  for (const Format &format : set.pairs()) {
    if (format.modifier != modifier)
      continue;
    const GstVideoFormat named = gst_drm_format_to_video_format(format.fourcc, gstdrm::kModLinear);
    if (named != GST_VIDEO_FORMAT_UNKNOWN)
      names.push_back(gst_video_format_to_string(named));
    else
      GST_DEBUG("no GstVideoFormat for %s, left out", gstdrm::describe_format(format).c_str());
  }
  return names;
}

GstStructure *new_raw_structure(const std::vector<const gchar *> &names)
{
  GstStructure *structure = gst_structure_new_empty("video/x-raw");
  gstdrm::set_strings(structure, "format", names, [](const gchar *name) { return g_strdup(name); });
  return structure;
}

void append_dmabuf_structure(GstCaps *caps, GstStructure *structure)
{
  gst_caps_append_structure_full(caps, structure,
                                 gst_caps_features_new_single(GST_CAPS_FEATURE_MEMORY_DMABUF));
}

} // namespace

/**
 * gst_drm_format_set_new_from_caps: (constructor)
 * @caps: #GstCaps
 *
 * Collects the pairs of every `video/x-raw` structure with the feature memory:DMABuf: those of
 * drm-format where the format is DMA_DRM; for another GstVideoFormat the implicit modifier, or the
 * modifier of a tiling that the format names. Strings that are no drm-format are left out.
 *
 * Returns: (transfer full) (nullable): a new set, empty where @caps have no such structure; %NULL
 * where @caps take any format: ANY caps, or a structure without drm-format that allows DMA_DRM.
 * gst_drm_format_set_intersect() takes that %NULL as any format.
 *
 * Since: 0.1
 */
GstDrmFormatSet *gst_drm_format_set_new_from_caps(const GstCaps *caps) noexcept
try {
  g_return_val_if_fail(GST_IS_CAPS(caps), nullptr);

  if (gst_caps_is_any(caps))
    return nullptr;
  std::vector<Format> pairs;
  for (guint i = 0; i < gst_caps_get_size(caps); ++i) {
    if (may_be_dmabuf(caps, i) && !collect_structure(gst_caps_get_structure(caps, i), pairs))
      return nullptr;
  }
  return gstdrm::wrap_format_set(FormatSet::from_pairs(std::move(pairs)));
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_format_set_to_caps:
 * @set: a #GstDrmFormatSet
 *
 * Writes `video/x-raw(memory:DMABuf)` caps: one DMA_DRM structure with the explicit members as
 * drm-format, and one with the GstVideoFormats of the implicit members. Sizes and frame rates are
 * not set, the caller adds what it can do. Implicit members that no GstVideoFormat names are left
 * out.
 *
 * Returns: (transfer full): new caps, empty for an empty set
 *
 * Since: 0.1
 */
GstCaps *gst_drm_format_set_to_caps(const GstDrmFormatSet *set) noexcept
try {
  g_return_val_if_fail(set != nullptr, nullptr);

  auto caps = gstdrm::GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  std::vector<Format> explicit_pairs;
  explicit_pairs.reserve(set->set.size());
  for (const Format &format : set->set.pairs()) {
    if (format.modifier != gstdrm::kModImplicit)
      explicit_pairs.push_back(format);
  }
  if (!explicit_pairs.empty()) {
    GstStructure *structure =
        gst_structure_new("video/x-raw", "format", G_TYPE_STRING, "DMA_DRM", nullptr);
    gstdrm::set_drm_formats(structure, explicit_pairs);
    append_dmabuf_structure(caps.get(), structure);
  }
  const auto implicit_names = linear_names(set->set, gstdrm::kModImplicit);
  if (!implicit_names.empty())
    append_dmabuf_structure(caps.get(), new_raw_structure(implicit_names));
  return caps.release();
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_format_set_to_raw_caps:
 * @set: a #GstDrmFormatSet
 *
 * Writes plain `video/x-raw` caps with the GstVideoFormats of the linear members: what a peer that
 * knows nothing of DMA_DRM may send in linear DMA buffers. Sizes and frame rates are not set.
 *
 * Returns: (transfer full): new caps, empty where no linear member has a GstVideoFormat
 *
 * Since: 0.1
 */
GstCaps *gst_drm_format_set_to_raw_caps(const GstDrmFormatSet *set) noexcept
try {
  g_return_val_if_fail(set != nullptr, nullptr);

  auto caps = gstdrm::GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  const auto names = linear_names(set->set, gstdrm::kModLinear);
  if (!names.empty())
    gst_caps_append_structure(caps.get(), new_raw_structure(names));
  return caps.release();
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}
