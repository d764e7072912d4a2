// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_overlay_plane.hpp"

#include <algorithm>
#include <optional>

#include <drm_fourcc.h>

#include "kms_stacking.hpp"

namespace gstdrm::kms {

namespace {

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

} // namespace

std::vector<OverlaySlot> overlay_slots(const Output &output, const Plan &plan)
{
  std::vector<OverlaySlot> slots;
  if (output.plane_named || plan.rectangle.rotation != DRM_MODE_ROTATE_0)
    return slots;
  for (const Plane &plane : output.crtc_planes) {
    if (plane.type != PlaneType::Overlay || !lists_argb(plane) || !is_free(plane, output, plan))
      continue;
    if (const std::optional<int> zpos = zpos_over(plane, *plan.plane, plan.rectangle.zpos))
      slots.push_back({&plane, *zpos});
  }
  return slots;
}

} // namespace gstdrm::kms
