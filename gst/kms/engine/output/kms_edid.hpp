// SPDX-License-Identifier: LGPL-2.1-or-later
// What a display says of its colours in its EDID. Pure functions of bytes that anybody may have
// written.
#pragma once

#include <cstdint>
#include <span>

namespace gstdrm::kms {

// Of CTA-861-G; nothing is set where the display says nothing.
struct DisplayColour {
  // The transfer functions of HDR static metadata (7.5.13): bit n is value n of table 84 (EOTF).
  // Empty also where the display does not take metadata of type 1.
  std::uint8_t transfers = 0;
  bool bt2020_rgb = false; // the colorimetry data block (7.5.5)
};

// An EDID with its extensions. Blocks with a wrong checksum count as not there.
DisplayColour read_display_colour(std::span<const std::uint8_t> edid);

} // namespace gstdrm::kms
