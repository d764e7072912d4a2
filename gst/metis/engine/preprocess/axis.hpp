// SPDX-License-Identifier: LGPL-2.1-or-later
// Which samples of a row or column a pixel of the tensor is made of (preprocess.hpp, step 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rows.hpp"

namespace gstdrm::metis {

// How the samples of a plane lie on the picture's pixels.
enum class Siting { Pixel, HalfOnFirst, HalfBetween };

// For each pixel the first of two neighbouring samples, and the weight of the second in 1/128. At
// the end the second may be one beyond the last sample; its weight is 0 then.
struct Axis {
  std::vector<std::uint32_t> first;
  std::vector<std::int32_t> weight;
  friend bool operator==(const Axis &, const Axis &) = default;
};

// Scales `picture` pixels, of which the plane has `samples` samples, to `content` pixels.
Axis make_axis(std::uint32_t picture, std::uint32_t content, std::uint32_t samples, Siting siting);

// The place of the picture in one direction: `size` pixels after `start`.
struct Extent {
  std::uint32_t start = 0;
  std::uint32_t size = 0;
};

// The picture's extent within `room` pixels. `along` to `across`, both below 2^47, is the picture's
// aspect ratio on a screen; `across_room` are the pixels in the other direction. Both directions
// get the smaller of the two scales.
Extent letterbox(std::uint64_t along, std::uint32_t room, std::uint64_t across,
                 std::uint32_t across_room);

// The loops write whole blocks: the pixels that they write for a row of `n`.
constexpr std::size_t padded_to_block(std::size_t n) noexcept
{
  return (n + PickTable::kBlock - 1) / PickTable::kBlock * PickTable::kBlock;
}

// An Axis in the form that the loops of rows.hpp need.
class RowPicks {
public:
  RowPicks() = default;
  // For a row of `samples` samples with 1 or 2 bytes (`parts`).
  RowPicks(const Axis &axis, std::uint32_t samples, std::uint32_t parts);

  // Valid as long as this object is.
  [[nodiscard]] PickTable table() const noexcept;

private:
  void find_windows(std::uint32_t row_bytes, std::uint32_t parts);
  void fill_shuffles();

  std::vector<std::uint32_t> first_, second_;
  std::vector<std::uint8_t> weights_;
  std::vector<std::uint32_t> windows_;
  std::vector<std::uint8_t> shuffles_;
};

} // namespace gstdrm::metis
