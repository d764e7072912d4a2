// SPDX-License-Identifier: LGPL-2.1-or-later
// Caps taken apart into structures and format sets: what the library and the elements intersect, so
// that a long drm-format list is read once and written once. Never installed.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <gst/gst.h>

#include "core/format_list.hpp"

namespace gstdrm {

struct StructureDeleter {
  void operator()(GstStructure *structure) const noexcept { gst_structure_free(structure); }
};
using StructurePtr = std::unique_ptr<GstStructure, StructureDeleter>;

struct FeaturesDeleter {
  void operator()(GstCapsFeatures *features) const noexcept { gst_caps_features_free(features); }
};
using FeaturesPtr = std::unique_ptr<GstCapsFeatures, FeaturesDeleter>;

// One structure of caps, its drm-format taken out of the rest.
struct CapsPart {
  StructurePtr rest;
  FeaturesPtr features;
  std::optional<FormatList> formats; // nullopt: no drm-format field, so any
};
using CapsParts = std::vector<CapsPart>;

// Caps that are not ANY. Strings that are no drm-format are left out.
CapsParts take_apart(const GstCaps *caps);
// A list has the order of its fourccs, and within one of them linear first.
GstCaps *put_together(CapsParts &&parts);
GstCaps *put_together(const CapsParts &parts);

CapsPart copy_part(const CapsPart &part);

// As gst_caps_intersect_full() with GST_CAPS_INTERSECT_FIRST, in time linear in the lists.
CapsParts intersect_parts(const CapsParts &first, const CapsParts &second);

// What a pad answers to a caps query with a filter: what it can do (`own`) and the filter have in
// common, in the order of the consumer, which is the element of a sink pad and the peer of a source
// pad. A sink pad does not name formats of 64 bits a pixel beside others in system memory: a
// converter upstream takes the format that is nearest to its input, whatever the order.
CapsParts filter_parts(GstPadDirection direction, const CapsParts &own, const CapsParts &filter);
// The same with caps; without a filter, which may be nullptr or ANY, it is `own`.
GstCaps *filter_caps(GstPadDirection direction, GstCaps *own, const GstCaps *filter);

// Appends the part unless one of the others says all that it says.
void merge_part(CapsParts &parts, CapsPart &&part);

// The same caps, field by field in the same order, in time linear in the lists. False says no more
// than that the text differs.
bool caps_are_same(const GstCaps *a, const GstCaps *b);

} // namespace gstdrm
