// SPDX-License-Identifier: LGPL-2.1-or-later
// What a plane says it can scan out. Pure functions.
#pragma once

#include <cstdint>

#include <gst/drm/core/in_formats.hpp>

namespace gstdrm::kms {

using gstdrm::implicit_formats;
using gstdrm::parse_in_formats;

// Whether pixels of the fourcc have an alpha of their own.
bool has_alpha(std::uint32_t fourcc);
// Bits of the largest component of a pixel: 8 for fourccs that are not known to have more.
unsigned bits_per_component(std::uint32_t fourcc);

} // namespace gstdrm::kms
