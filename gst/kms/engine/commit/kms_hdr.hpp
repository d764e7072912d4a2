// SPDX-License-Identifier: LGPL-2.1-or-later
// What a stream says of its brightness and colours, for the display to know: static metadata of
// CTA-861-G (6.9) and SMPTE ST 2086. Plain values.
#pragma once

#include <array>
#include <cstdint>

#include <drm_mode.h>

namespace gstdrm::kms {

// Values of CTA-861-G table 84 (EOTF)
enum class TransferFunction : std::uint8_t { Sdr = 0, TraditionalHdr = 1, Pq = 2, Hlg = 3 };

// CIE 1931, in units of 0.00002
struct Chromaticity {
  std::uint16_t x = 0;
  std::uint16_t y = 0;
  friend bool operator==(const Chromaticity &, const Chromaticity &) = default;
};

// 0 stands for unknown everywhere, as in the standard.
struct HdrMetadata {
  TransferFunction transfer = TransferFunction::Pq;
  std::array<Chromaticity, 3> primaries{}; // red, green, blue
  Chromaticity white_point;
  std::uint32_t max_luminance = 0;                 // of the mastering display, in 0.0001 cd/m2
  std::uint32_t min_luminance = 0;                 // the same
  std::uint32_t max_content_light_level = 0;       // cd/m2
  std::uint32_t max_frame_average_light_level = 0; // cd/m2
  friend bool operator==(const HdrMetadata &, const HdrMetadata &) = default;
};

// Contents of the connector's HDR_OUTPUT_METADATA blob.
hdr_output_metadata to_blob(const HdrMetadata &metadata);

} // namespace gstdrm::kms
