// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_stacking.hpp"

#include <bit>

#include <drm_mode.h>

namespace gstdrm::kms {

namespace {

constexpr std::uint32_t kTurns =
    DRM_MODE_ROTATE_0 | DRM_MODE_ROTATE_90 | DRM_MODE_ROTATE_180 | DRM_MODE_ROTATE_270;
constexpr std::uint32_t kReflections = DRM_MODE_REFLECT_X | DRM_MODE_REFLECT_Y;

bool is_mutable(const Property &property)
{
  return (property.flags & DRM_MODE_PROP_IMMUTABLE) == 0;
}

// Whether the plane's property has the value of DRM_MODE_ROTATE_* and DRM_MODE_REFLECT_* (a bit
// each, by its name in drm_blend.c). A list without names says nothing.
bool lists_rotation(const Plane &plane, std::uint32_t rotation)
{
  const Property *property = find(plane.properties, "rotation");
  if (!property)
    return rotation == DRM_MODE_ROTATE_0;
  if (property->enums.empty())
    return true;
  std::uint64_t able = 0;
  for (const auto &[name, bit] : property->enums)
    able |= std::uint64_t{1} << bit;
  return (rotation & ~able) == 0;
}

} // namespace

// Half a turn is the same as a reflection along both axes (drm_blend.c, drm_rotation_simplify()):
// the cluster windows of Rockchip's VOP2 list 90 and 270 degrees and both reflections, and not 180.
std::optional<std::uint32_t> plane_rotation(const Plane &plane, std::uint32_t wanted)
{
  if (lists_rotation(plane, wanted))
    return wanted;
  const int quarters = std::countr_zero(wanted & kTurns);
  const std::uint32_t turn = std::uint32_t{1} << ((quarters + 2) % 4);
  const std::uint32_t same = turn | ((wanted & kReflections) ^ kReflections);
  return lists_rotation(plane, same) ? std::optional(same) : std::nullopt;
}

std::optional<int> zpos_over(const Plane &plane, const Plane &under, int under_zpos)
{
  const Property *own = find(plane.properties, "zpos");
  const Property *lower = find(under.properties, "zpos");
  // without zpos the order is that of the types, then of the ids
  const bool later = under.type == PlaneType::Primary || plane.id > under.id;
  if (!own || !lower)
    return later ? std::optional(-1) : std::nullopt;
  const auto height =
      under_zpos >= 0 && is_mutable(*lower) ? static_cast<std::uint64_t>(under_zpos) : lower->value;
  // of two planes with one zpos, that with the larger id is over the other (drm_blend.c)
  const bool is_over = own->value > height || (own->value == height && plane.id > under.id);
  if (!is_mutable(*own))
    return is_over ? std::optional(-1) : std::nullopt;
  const std::uint64_t wanted = is_over ? own->value : height + 1;
  if (own->range && (wanted < own->range->first || wanted > own->range->second))
    return std::nullopt;
  return static_cast<int>(wanted);
}

std::string why_no_zpos(const Plane &plane, int zpos)
{
  if (zpos < 0)
    return {};
  const Property *property = find(plane.properties, "zpos");
  if (!property)
    return "has no zpos";
  const auto wanted = static_cast<std::uint64_t>(zpos);
  if (!is_mutable(*property) && property->value != wanted)
    return "is fixed at zpos " + std::to_string(property->value);
  if (property->range && (wanted < property->range->first || wanted > property->range->second))
    return "takes zpos " + std::to_string(property->range->first) + " to " +
           std::to_string(property->range->second);
  return {};
}

} // namespace gstdrm::kms
