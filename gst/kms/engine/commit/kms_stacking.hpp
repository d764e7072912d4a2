// SPDX-License-Identifier: LGPL-2.1-or-later
// How planes turn a picture, and which of two planes lies over the other. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/output/kms_output.hpp"

namespace gstdrm::kms {

// The value of the plane's rotation property that turns and reflects a picture as `wanted` says
// (DRM_MODE_ROTATE_* and DRM_MODE_REFLECT_*); nothing: the plane cannot do that.
std::optional<std::uint32_t> plane_rotation(const Plane &plane, std::uint32_t wanted);

// The zpos that puts the plane over `under` (-1: none needs to be set); nullopt if it is under it.
// `under_zpos`: what a commit sets for `under`; -1: nothing.
std::optional<int> zpos_over(const Plane &plane, const Plane &under, int under_zpos);

// Why the plane cannot have the zpos; empty if it can, as every plane can have -1.
std::string why_no_zpos(const Plane &plane, int zpos);

} // namespace gstdrm::kms
