// SPDX-License-Identifier: LGPL-2.1-or-later
// Which colour conversions a driver's video processing does. Both sides have the same primaries and
// transfer function: those are not converted.
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
  bool is_explicit = false;     // VAProcColorStandardExplicit is used
  std::vector<Matrix> listed;   // that the driver accepts
  std::vector<Matrix> from_yuv; // from YUV to RGB
  std::vector<Matrix> to_yuv;   // from RGB to YUV, the driver's favourite first
  bool full_range = true;       // converts between RGB and YUV of full range
  bool between_yuv = true;      // converts between matrices and ranges of YUV
};

// From the standards that the driver lists and from va_driver_facts. `vendor` is the driver's name.
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
