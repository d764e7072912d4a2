// SPDX-License-Identifier: LGPL-2.1-or-later
// Behaviour of drivers that no query of VA-API tells, by their names (vaQueryVendorString), each
// with its source. Drivers that are not named here are trusted. tests/va-driver imitates each of
// these.
#pragma once

#include <string_view>
#include <vector>

#include "va_patterns.hpp"

namespace gstdrm::va {

// The driver uses only the last pipeline parameter buffer of a picture, without an error.
[[nodiscard]] bool keeps_one_parameter(std::string_view vendor);

// An import uses the first dma-buf of a descriptor for all planes.
[[nodiscard]] bool reads_first_object_only(std::string_view vendor);

// The driver fills the area around output_region with output_background_color. False for unknown
// drivers: then a black picture is drawn first.
[[nodiscard]] bool draws_background(std::string_view vendor);

// The driver lists and accepts Bob, but frames keep both fields.
[[nodiscard]] bool ignores_bob(std::string_view vendor);

// Some drivers ignore the given standard: they have fixed matrices between RGB and YUV of narrow
// range, and do not convert between YUV and YUV. Empty for drivers that do what they list.
struct FixedColours {
  std::vector<Matrix> from_yuv; // from YUV to RGB
  std::vector<Matrix> to_yuv;   // from RGB to YUV
  bool unless_explicit = false; // only if VAProcColorStandardExplicit is not listed
};
[[nodiscard]] FixedColours fixed_colours(std::string_view vendor);

} // namespace gstdrm::va
