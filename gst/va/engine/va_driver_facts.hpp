// SPDX-License-Identifier: LGPL-2.1-or-later
// What drivers do and no query of VA-API tells, by their names (vaQueryVendorString), each with its
// source. A driver that is not named here is taken at its word. tests/va-driver plays each of
// these.
#pragma once

#include <string_view>
#include <vector>

#include "va_patterns.hpp"

namespace gstdrm::va {

// Of several pipeline parameter buffers, a picture keeps the last one, and reports no error.
[[nodiscard]] bool keeps_one_parameter(std::string_view vendor);

// An import reads the first dma-buf of a descriptor, and takes every plane to be in that one.
[[nodiscard]] bool reads_first_object_only(std::string_view vendor);

// Whether the area around output_region gets output_background_color. False for drivers that are
// not known: borders are black then because black is drawn first.
[[nodiscard]] bool draws_background(std::string_view vendor);

// Bob is listed and taken, and frames keep both fields.
[[nodiscard]] bool ignores_bob(std::string_view vendor);

// Between RGB and YUV of narrow range some drivers have fixed matrices, whatever standard they are
// told, and YUV that becomes YUV keeps its values. Empty: the driver does what it lists.
struct FixedColours {
  std::vector<Matrix> from_yuv; // that becomes RGB
  std::vector<Matrix> to_yuv;   // that is made of RGB
  bool unless_explicit = false; // not where VAProcColorStandardExplicit is listed
};
[[nodiscard]] FixedColours fixed_colours(std::string_view vendor);

} // namespace gstdrm::va
