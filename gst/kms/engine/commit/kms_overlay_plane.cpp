// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_overlay_plane.hpp"

#include <algorithm>
#include <optional>

#include <drm_fourcc.h>

namespace gstdrm::kms {

namespace {

bool is_mutable(const Property &property)
{
  return (property.flags & DRM_MODE_PROP_IMMUTABLE) == 0;
}

bool is_free(const Plane &plane, const Output &output, const Plan &plan)
{
  const std::uint64_t user = property_value(plane.properties, "CRTC_ID");
  return plane.id != plan.plane->id && &plane != plan.background &&
         (user == 0 || user == output.crtc.id);
}

bool lists_argb(const Plane &plane)
{
  return plane.formats.contains({DRM_FORMAT_ARGB8888, kModLinear}) ||
         plane.formats.contains({DRM_FORMAT_ARGB8888, kModImplicit});
}

// The zpos that puts the plane over the picture's (-1: none needs to be set); nothing: it is under
// it.
std::optional<int> zpos_over(const Plane &plane, const Plan &plan)
{
  const Property *own = find(plane.properties, "zpos");
  const Property *under = find(plan.plane->properties, "zpos");
  // without zpos the order is that of the types, then of the ids
  const bool later = plan.plane->type == PlaneType::Primary || plane.id > plan.plane->id;
  if (!own || !under)
    return later ? std::optional(-1) : std::nullopt;
  const auto picture = plan.rectangle.zpos >= 0 && is_mutable(*under)
                           ? static_cast<std::uint64_t>(plan.rectangle.zpos)
                           : under->value;
  // of two planes with one zpos, that with the larger id is over the other (drm_blend.c)
  const bool is_over = own->value > picture || (own->value == picture && plane.id > plan.plane->id);
  if (!is_mutable(*own))
    return is_over ? std::optional(-1) : std::nullopt;
  const std::uint64_t wanted = is_over ? own->value : picture + 1;
  if (own->range && (wanted < own->range->first || wanted > own->range->second))
    return std::nullopt;
  return static_cast<int>(wanted);
}

} // namespace

std::vector<OverlaySlot> overlay_slots(const Output &output, const Plan &plan)
{
  std::vector<OverlaySlot> slots;
  if (output.plane_named || plan.rectangle.rotation != DRM_MODE_ROTATE_0)
    return slots;
  for (const Plane &plane : output.crtc_planes) {
    if (plane.type != PlaneType::Overlay || !lists_argb(plane) || !is_free(plane, output, plan))
      continue;
    if (const std::optional<int> zpos = zpos_over(plane, plan))
      slots.push_back({&plane, *zpos});
  }
  return slots;
}

} // namespace gstdrm::kms
