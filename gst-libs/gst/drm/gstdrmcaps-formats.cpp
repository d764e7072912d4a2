// SPDX-License-Identifier: LGPL-2.1-or-later
// Caps as pairs, and drm-format fields of pairs.
#include <optional>
#include <utility>
#include <vector>

#include <gst/allocators/gstdmabuf.h>
#include <gst/video/video.h>

#include "gstdrm-private.hpp"
#include "gstdrmcaps-strings.hpp"
#include "gstdrmformat.h"
#include "gstdrmformatset-private.hpp"

#define GST_CAT_DEFAULT gstdrm::library_debug_category()

namespace gstdrm {

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
  if (pair.modifier == kModLinear)
    pair.modifier = kModImplicit;
  pairs.push_back(pair);
}

// Returns false if the structure takes any pair.
bool collect_structure(const GstStructure *structure, std::vector<Format> &pairs)
{
  const GValue *drm_formats = gst_structure_get_value(structure, "drm-format");
  const GValue *formats = gst_structure_get_value(structure, "format");
  bool any_pair = formats == nullptr;
  std::vector<const gchar *> names;
  if (formats) {
    for_each_string(formats, [&](const gchar *name) {
      if (g_str_equal(name, "DMA_DRM"))
        any_pair = true;
      else
        names.push_back(name);
    });
  }
  if (drm_formats) {
    if (any_pair)
      collect_drm_formats(drm_formats, pairs);
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

} // namespace

void collect_drm_formats(const GValue *value, std::vector<Format> &pairs)
{
  if (GST_VALUE_HOLDS_LIST(value))
    pairs.reserve(pairs.size() + gst_value_list_get_size(value));
  for_each_string(value, [&pairs](const gchar *text) {
    const Result<Format> format = parse_format(text);
    if (format)
      pairs.push_back(*format);
    else
      GST_DEBUG("left out of a format set: %s", format.error().message.c_str());
  });
}

void set_drm_formats(GstStructure *structure, std::span<const Format> pairs)
{
  set_strings(structure, "drm-format", pairs, [](const Format &format) {
    const FormatText text = format_to_text(format);
    return g_strndup(text.chars.data(), text.length);
  });
}

std::optional<FormatList> formats_of_caps(const GstCaps *caps)
{
  if (gst_caps_is_any(caps))
    return std::nullopt;
  std::vector<Format> pairs;
  for (guint i = 0; i < gst_caps_get_size(caps); ++i) {
    if (may_be_dmabuf(caps, i) && !collect_structure(gst_caps_get_structure(caps, i), pairs))
      return std::nullopt;
  }
  return FormatList::in_order(std::move(pairs));
}

} // namespace gstdrm
