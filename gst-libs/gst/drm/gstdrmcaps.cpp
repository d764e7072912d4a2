// SPDX-License-Identifier: LGPL-2.1-or-later
// Intersection of caps with long drm-format lists. GStreamer compares lists string by string, each
// with each; here they are intersected as sets.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmformatset-private.hpp"

#define GST_CAT_DEFAULT gstdrm::library_debug_category()

using gstdrm::Format;
using gstdrm::FormatSet;

namespace {

struct StructureDeleter {
  void operator()(GstStructure *structure) const { gst_structure_free(structure); }
};
using StructurePtr = std::unique_ptr<GstStructure, StructureDeleter>;

struct FeaturesDeleter {
  void operator()(GstCapsFeatures *features) const { gst_caps_features_free(features); }
};
using FeaturesPtr = std::unique_ptr<GstCapsFeatures, FeaturesDeleter>;

// One structure of caps, its drm-format taken out of the rest.
struct Part {
  StructurePtr rest;
  FeaturesPtr features;
  std::optional<FormatSet> formats; // none: no drm-format field, so any
};

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

std::vector<Part> take_apart(const GstCaps *caps)
{
  std::vector<Part> parts;
  parts.reserve(gst_caps_get_size(caps));
  for (guint i = 0; i < gst_caps_get_size(caps); ++i) {
    const GstStructure *structure = gst_caps_get_structure(caps, i);
    Part part{without_drm_format(structure),
              FeaturesPtr(gst_caps_features_copy(gst_caps_get_features(caps, i))), std::nullopt};
    if (const GValue *value = gst_structure_get_value(structure, "drm-format")) {
      std::vector<Format> pairs;
      gstdrm::collect_drm_formats(value, pairs);
      part.formats = FormatSet::from_pairs(std::move(pairs));
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

std::optional<FormatSet> intersect_formats(const std::optional<FormatSet> &a,
                                           const std::optional<FormatSet> &b)
{
  if (a && b)
    return FormatSet::intersect(*a, *b);
  return a ? a : b;
}

std::optional<Part> intersect_parts(const Part &a, const Part &b)
{
  if (!gst_caps_features_is_equal(a.features.get(), b.features.get()))
    return std::nullopt;
  StructurePtr rest(gst_structure_intersect(a.rest.get(), b.rest.get()));
  if (!rest)
    return std::nullopt;
  std::optional<FormatSet> formats = intersect_formats(a.formats, b.formats);
  if (formats && formats->empty())
    return std::nullopt;
  // ANY features equal all others, and the others say more
  const Part &precise = gst_caps_features_is_any(a.features.get()) ? b : a;
  return Part{std::move(rest), FeaturesPtr(gst_caps_features_copy(precise.features.get())),
              std::move(formats)};
}

// True where `b` says all that `a` says, so that `a` adds nothing.
bool is_covered(const Part &a, const Part &b)
{
  // ANY equals everything, but says more
  if (!gst_caps_features_is_equal(a.features.get(), b.features.get()) ||
      (gst_caps_features_is_any(a.features.get()) && !gst_caps_features_is_any(b.features.get())))
    return false;
  if (b.formats && (!a.formats || !a.formats->is_subset_of(*b.formats)))
    return false;
  return gst_structure_is_subset(a.rest.get(), b.rest.get());
}

void merge(std::vector<Part> &parts, Part &&part)
{
  for (const Part &other : parts) {
    if (is_covered(part, other))
      return;
  }
  parts.push_back(std::move(part));
}

GstCaps *put_together(std::vector<Part> &&parts)
{
  GstCaps *caps = gst_caps_new_empty();
  for (Part &part : parts) {
    if (part.formats)
      gstdrm::set_drm_formats(part.rest.get(), part.formats->pairs());
    gst_caps_append_structure_full(caps, part.rest.release(), part.features.release());
  }
  return caps;
}

} // namespace

/**
 * gst_drm_caps_intersect:
 * @first: #GstCaps
 * @second: #GstCaps
 *
 * As gst_caps_intersect_full() with %GST_CAPS_INTERSECT_FIRST, in time linear in the length of the
 * drm-format lists. Structures come in the order of @first; a drm-format list comes out sorted,
 * linear first within a fourcc. Two spellings of one pair are equal here, and strings that are no
 * drm-format are left out.
 *
 * Returns: (transfer full): new caps, empty where there is nothing in common
 *
 * Since: 0.1
 */
GstCaps *gst_drm_caps_intersect(const GstCaps *first, const GstCaps *second) noexcept
try {
  g_return_val_if_fail(GST_IS_CAPS(first), nullptr);
  g_return_val_if_fail(GST_IS_CAPS(second), nullptr);

  // ANY takes all the other has
  if (gst_caps_is_any(first))
    return gst_caps_copy(second);
  if (gst_caps_is_any(second))
    return gst_caps_copy(first);

  const std::vector<Part> of_first = take_apart(first);
  const std::vector<Part> of_second = take_apart(second);
  std::vector<Part> common;
  for (const Part &a : of_first) {
    for (const Part &b : of_second) {
      if (std::optional<Part> part = intersect_parts(a, b))
        merge(common, std::move(*part));
    }
  }
  return put_together(std::move(common));
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}
