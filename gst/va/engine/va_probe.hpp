// SPDX-License-Identifier: LGPL-2.1-or-later
// Which pairs of format and modifier a device really allocates, exports and draws.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/core/limits.hpp>
#include <gst/drm/core/result.hpp>

#include "va_colours.hpp"
#include "va_deinterlace.hpp"
#include "va_display.hpp"
#include "va_surface.hpp"

namespace gstdrm::va {

struct Capabilities {
  FormatSet formats; // each pair was allocated, exported and drawn into once
  // Pairs of formats that can be read but not drawn into: each was allocated and exported, and
  // frames of its format were imported and read.
  FormatSet sources;
  bool has_vpp = false;
  // VASurfaceAttribDRMFormatModifiers may be set: the driver says so, or a trial succeeded
  bool takes_modifiers = false;
  bool lists_modifiers = false; // the driver says which modifiers it supports
  ImportBy imports = ImportBy::Prime2;
  ColourRules colours;                          // only of an open device, not of va_machine.hpp
  std::vector<DeinterlaceMethod> deinterlacing; // best last
  std::uint32_t min_width = 1;
  std::uint32_t min_height = 1;
  std::uint32_t max_width = kMaxFrameSize;
  std::uint32_t max_height = kMaxFrameSize;
  std::vector<std::string> refused; // errors of the pairs that failed, for the log
};

// Allocates, exports and draws into a surface for each pair that the driver may support, and reads
// from those that it cannot draw into. Error if it can draw into none.
Result<Capabilities> query_capabilities(const std::shared_ptr<Display> &display);

} // namespace gstdrm::va
