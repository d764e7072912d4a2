// SPDX-License-Identifier: LGPL-2.1-or-later
// What a driver's video processing makes of the colours that it is told. Colour primaries and
// transfer functions are not converted: both sides have the same.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <va/va.h>
#include <va/va_vpp.h>

#include "va_display.hpp"
#include "va_formats.hpp"
#include "va_patterns.hpp"

namespace gstdrm::va {

struct ColourRules {
  bool is_explicit = false;     // told by VAProcColorStandardExplicit
  std::vector<Matrix> listed;   // that may be told
  std::vector<Matrix> from_yuv; // of YUV that becomes RGB
  std::vector<Matrix> to_yuv;   // of YUV that is made of RGB, what the driver likes best first
  bool full_range = true;       // between RGB and YUV of full range
  bool between_yuv = true;      // from one matrix or range of YUV to another
};

// By what the driver lists, and by what is known of it. `vendor` is its name.
ColourRules colour_rules(std::string_view vendor, std::vector<VAProcColorStandardType> listed);
ColourRules query_colours(const std::shared_ptr<Display> &display);

struct ColourConversion {
  Model from_model{};
  Model to_model{};
  Colours from;
  Colours to;
};
[[nodiscard]] bool draws(const ColourRules &rules, const ColourConversion &conversion);
void tell(const ColourRules &rules, const ColourConversion &conversion,
          VAProcPipelineParameterBuffer &parameters);

} // namespace gstdrm::va
