// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_hdr.hpp"

#include <algorithm>
#include <limits>

namespace gstdrm::kms {

namespace {

constexpr std::uint8_t kStaticMetadataType1 =
    0; // CTA-861-G table 85, and metadata_type of the blob

std::uint16_t saturated(std::uint32_t value)
{
  constexpr std::uint32_t kLargest = std::numeric_limits<std::uint16_t>::max();
  return static_cast<std::uint16_t>(std::min(value, kLargest));
}

} // namespace

hdr_output_metadata to_blob(const HdrMetadata &metadata)
{
  hdr_output_metadata blob{};
  blob.metadata_type = kStaticMetadataType1;
  hdr_metadata_infoframe &frame = blob.hdmi_metadata_type1;
  frame.eotf = static_cast<std::uint8_t>(metadata.transfer);
  frame.metadata_type = kStaticMetadataType1;
  for (std::size_t i = 0; i < metadata.primaries.size(); i++) {
    frame.display_primaries[i].x = metadata.primaries[i].x;
    frame.display_primaries[i].y = metadata.primaries[i].y;
  }
  frame.white_point.x = metadata.white_point.x;
  frame.white_point.y = metadata.white_point.y;
  // the frame has whole cd/m2 for the maximum, and 0.0001 cd/m2 for the minimum
  constexpr std::uint32_t kUnitsPerCandela = 10'000;
  frame.max_display_mastering_luminance =
      saturated(metadata.max_luminance / kUnitsPerCandela +
                (metadata.max_luminance % kUnitsPerCandela >= kUnitsPerCandela / 2 ? 1 : 0));
  frame.min_display_mastering_luminance = saturated(metadata.min_luminance);
  frame.max_cll = saturated(metadata.max_content_light_level);
  frame.max_fall = saturated(metadata.max_frame_average_light_level);
  return blob;
}

} // namespace gstdrm::kms
