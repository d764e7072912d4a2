// SPDX-License-Identifier: LGPL-2.1-or-later
// Format sets as caps, and back.
#include <optional>
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
using gstdrm::FormatList;
using gstdrm::FormatSet;

namespace {

// GstVideoFormats of the linear layouts of these fourccs; those without a name are left out.
std::vector<const gchar *> linear_names(const FormatList &list, guint64 modifier)
{
  std::vector<const gchar *> names;
  for (const Format &format : list.pairs()) {
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

  const std::optional<FormatList> list = gstdrm::formats_of_caps(caps);
  return list ? gstdrm::wrap_format_set(FormatSet(list->set())) : nullptr;
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_format_set_to_caps:
 * @set: a #GstDrmFormatSet
 *
 * Writes `video/x-raw(memory:DMABuf)` caps: one DMA_DRM structure with the explicit members as
 * drm-format, and one with the GstVideoFormats of the implicit members. The lists are in an order
 * of preference, which upstream follows: formats of 8 bits before deeper ones, NV12 and RGB of 32
 * bits first, 64 bits a pixel last. Sizes and frame rates are not set, the caller adds what it can
 * do. Implicit members that no GstVideoFormat names are left out.
 *
 * Returns: (transfer full): new caps, empty for an empty set
 *
 * Since: 0.1
 */
GstCaps *gst_drm_format_set_to_caps(const GstDrmFormatSet *set) noexcept
try {
  g_return_val_if_fail(set != nullptr, nullptr);

  auto caps = gstdrm::GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  const FormatList list(set->set);
  std::vector<Format> explicit_pairs;
  explicit_pairs.reserve(set->set.size());
  for (const Format &format : list.pairs()) {
    if (format.modifier != gstdrm::kModImplicit)
      explicit_pairs.push_back(format);
  }
  if (!explicit_pairs.empty()) {
    GstStructure *structure =
        gst_structure_new("video/x-raw", "format", G_TYPE_STRING, "DMA_DRM", nullptr);
    gstdrm::set_drm_formats(structure, explicit_pairs);
    append_dmabuf_structure(caps.get(), structure);
  }
  const auto implicit_names = linear_names(list, gstdrm::kModImplicit);
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
 * knows nothing of DMA_DRM may send in linear DMA buffers, in the order of
 * gst_drm_format_set_to_caps(). Sizes and frame rates are not set.
 *
 * Returns: (transfer full): new caps, empty where no linear member has a GstVideoFormat
 *
 * Since: 0.1
 */
GstCaps *gst_drm_format_set_to_raw_caps(const GstDrmFormatSet *set) noexcept
try {
  g_return_val_if_fail(set != nullptr, nullptr);

  auto caps = gstdrm::GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  const auto names = linear_names(FormatList(set->set), gstdrm::kModLinear);
  if (!names.empty())
    gst_caps_append_structure(caps.get(), new_raw_structure(names));
  return caps.release();
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}
