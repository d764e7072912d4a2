// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrmcaps-parts.hpp"

#include <string>
#include <utility>

#include <gst/allocators/gstdmabuf.h>
#include <gst/video/video.h>

#include "gstdrm-private.hpp"
#include "gstdrmcaps-strings.hpp"
#include "gstdrmformat.h"
#include "gstdrmformatset-private.hpp"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gstdrm::library_debug_category()

namespace gstdrm {

namespace {

StructurePtr without_drm_format(const GstStructure *structure)
{
  // Field by field: a copy of the whole would copy the list first.
  StructurePtr rest(gst_structure_new_empty(gst_structure_get_name(structure)));
  for (gint i = 0; i < gst_structure_n_fields(structure); ++i) {
    const gchar *field = gst_structure_nth_field_name(structure, static_cast<guint>(i));
    if (!g_str_equal(field, "drm-format"))
      gst_structure_set_value(rest.get(), field, gst_structure_get_value(structure, field));
  }
  return rest;
}

std::optional<FormatList> intersect_formats(const std::optional<FormatList> &a,
                                            const std::optional<FormatList> &b)
{
  if (a && b)
    return FormatList::intersect(*a, b->set());
  return a ? a : b;
}

std::optional<CapsPart> intersect_part(const CapsPart &a, const CapsPart &b)
{
  if (!gst_caps_features_is_equal(a.features.get(), b.features.get()))
    return std::nullopt;
  StructurePtr rest(gst_structure_intersect(a.rest.get(), b.rest.get()));
  if (!rest)
    return std::nullopt;
  std::optional<FormatList> formats = intersect_formats(a.formats, b.formats);
  if (formats && formats->set().empty())
    return std::nullopt;
  // ANY features equal all others, and the others say more
  const CapsPart &precise = gst_caps_features_is_any(a.features.get()) ? b : a;
  return CapsPart{std::move(rest), FeaturesPtr(gst_caps_features_copy(precise.features.get())),
                  std::move(formats)};
}

// True where `b` says all that `a` says, so that `a` adds nothing.
bool is_covered(const CapsPart &a, const CapsPart &b)
{
  // ANY equals everything, but says more
  if (!gst_caps_features_is_equal(a.features.get(), b.features.get()) ||
      (gst_caps_features_is_any(a.features.get()) && !gst_caps_features_is_any(b.features.get())))
    return false;
  if (b.formats && (!a.formats || !a.formats->set().is_subset_of(b.formats->set())))
    return false;
  return gst_structure_is_subset(a.rest.get(), b.rest.get());
}

bool has_64_bits_a_pixel(const gchar *name)
{
  const GstVideoFormat format = gst_video_format_from_string(name);
  if (format == GST_VIDEO_FORMAT_UNKNOWN || format == GST_VIDEO_FORMAT_ENCODED)
    return false;
  const GstVideoFormatInfo *info = gst_video_format_get_info(format);
  return GST_VIDEO_FORMAT_INFO_N_PLANES(info) == 1 && GST_VIDEO_FORMAT_INFO_PSTRIDE(info, 0) == 8;
}

// Also beside other features: meta:GstVideoOverlayComposition.
bool is_system_memory(const GstCapsFeatures *features)
{
  return gst_caps_features_is_equal(features, GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY) ||
         (!gst_caps_features_is_any(features) &&
          gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY));
}

void drop_64_bits_beside_others(GstStructure *structure)
{
  const GValue *value = gst_structure_get_value(structure, "format");
  if (!value || !GST_VALUE_HOLDS_LIST(value))
    return;
  std::vector<std::string> names;
  for_each_string(value, [&names](const gchar *name) { names.emplace_back(name); });
  const std::size_t all = names.size();
  std::erase_if(names, [](const std::string &name) { return has_64_bits_a_pixel(name.c_str()); });
  if (!names.empty() && names.size() < all)
    set_strings(structure, "format", names,
                [](const std::string &name) { return g_strdup(name.c_str()); });
}

bool values_are_same(const GValue *a, const GValue *b)
{
  if (G_VALUE_TYPE(a) != G_VALUE_TYPE(b))
    return false;
  if (G_VALUE_HOLDS_STRING(a))
    return g_strcmp0(g_value_get_string(a), g_value_get_string(b)) == 0;
  if (!GST_VALUE_HOLDS_LIST(a))
    return gst_value_compare(a, b) == GST_VALUE_EQUAL;
  const guint size = gst_value_list_get_size(a);
  if (size != gst_value_list_get_size(b))
    return false;
  for (guint i = 0; i < size; ++i) {
    if (!values_are_same(gst_value_list_get_value(a, i), gst_value_list_get_value(b, i)))
      return false;
  }
  return true;
}

bool structures_are_same(const GstStructure *a, const GstStructure *b)
{
  const gint size = gst_structure_n_fields(a);
  if (!gst_structure_has_name(a, gst_structure_get_name(b)) || size != gst_structure_n_fields(b))
    return false;
  for (gint i = 0; i < size; ++i) {
    const gchar *field = gst_structure_nth_field_name(a, static_cast<guint>(i));
    if (!g_str_equal(field, gst_structure_nth_field_name(b, static_cast<guint>(i))) ||
        !values_are_same(gst_structure_get_value(a, field), gst_structure_get_value(b, field)))
      return false;
  }
  return true;
}

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

// Here, because the plugins that take caps apart log into it as well.
GstDebugCategory *library_debug_category() noexcept
{
  static GstDebugCategory *const category =
      _gst_debug_category_new("drmformat", 0, "DRM formats, format sets, frames and fences");
  return category;
}

CapsParts take_apart(const GstCaps *caps)
{
  CapsParts parts;
  parts.reserve(gst_caps_get_size(caps));
  for (guint i = 0; i < gst_caps_get_size(caps); ++i) {
    const GstStructure *structure = gst_caps_get_structure(caps, i);
    CapsPart part{without_drm_format(structure),
                  FeaturesPtr(gst_caps_features_copy(gst_caps_get_features(caps, i))),
                  std::nullopt};
    if (const GValue *value = gst_structure_get_value(structure, "drm-format")) {
      std::vector<Format> pairs;
      collect_drm_formats(value, pairs);
      part.formats = FormatList::in_order(std::move(pairs));
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

GstCaps *put_together(CapsParts &&parts)
{
  auto caps = GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  for (CapsPart &part : parts) {
    if (part.formats)
      set_drm_formats(part.rest.get(), part.formats->pairs());
    gst_caps_append_structure_full(caps.get(), part.rest.release(), part.features.release());
  }
  return caps.release();
}

GstCaps *put_together(const CapsParts &parts)
{
  CapsParts copies;
  copies.reserve(parts.size());
  for (const CapsPart &part : parts)
    copies.push_back(copy_part(part));
  return put_together(std::move(copies));
}

CapsPart copy_part(const CapsPart &part)
{
  return CapsPart{StructurePtr(gst_structure_copy(part.rest.get())),
                  FeaturesPtr(gst_caps_features_copy(part.features.get())), part.formats};
}

CapsParts intersect_parts(const CapsParts &first, const CapsParts &second)
{
  CapsParts common;
  for (const CapsPart &a : first) {
    for (const CapsPart &b : second) {
      if (std::optional<CapsPart> part = intersect_part(a, b))
        merge_part(common, std::move(*part));
    }
  }
  return common;
}

CapsParts filter_parts(GstPadDirection direction, const CapsParts &own, const CapsParts &filter)
{
  if (direction == GST_PAD_SRC)
    return intersect_parts(filter, own);
  CapsParts common = intersect_parts(own, filter);
  for (CapsPart &part : common)
    if (is_system_memory(part.features.get()))
      drop_64_bits_beside_others(part.rest.get());
  return common;
}

GstCaps *filter_caps(GstPadDirection direction, GstCaps *own, const GstCaps *filter)
{
  if (!filter || gst_caps_is_any(filter))
    return gst_caps_ref(own);
  if (gst_caps_is_any(own))
    return gst_caps_copy(filter);
  return put_together(filter_parts(direction, take_apart(own), take_apart(filter)));
}

void merge_part(CapsParts &parts, CapsPart &&part)
{
  for (const CapsPart &other : parts) {
    if (is_covered(part, other))
      return;
  }
  parts.push_back(std::move(part));
}

bool caps_are_same(const GstCaps *a, const GstCaps *b)
{
  if (a == b)
    return true;
  if (gst_caps_is_any(a) || gst_caps_is_any(b))
    return gst_caps_is_any(a) && gst_caps_is_any(b);
  if (gst_caps_get_size(a) != gst_caps_get_size(b))
    return false;
  for (guint i = 0; i < gst_caps_get_size(a); ++i) {
    if (!gst_caps_features_is_equal(gst_caps_get_features(a, i), gst_caps_get_features(b, i)) ||
        gst_caps_features_is_any(gst_caps_get_features(a, i)) !=
            gst_caps_features_is_any(gst_caps_get_features(b, i)) ||
        !structures_are_same(gst_caps_get_structure(a, i), gst_caps_get_structure(b, i)))
      return false;
  }
  return true;
}

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
