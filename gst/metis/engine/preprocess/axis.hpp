// SPDX-License-Identifier: LGPL-2.1-or-later
// Which samples a pixel of the tensor is made of, along one direction (preprocess.hpp, step 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gstdrm::metis {

// How the samples of a plane lie on the picture's pixels.
enum class Siting { Pixel, HalfOnFirst, HalfBetween };

// For each pixel the first of two neighbouring samples, and the weight of the second in 1/128. The
// second is one beyond the last sample at the end, where its weight is 0.
struct Axis {
  std::vector<std::uint32_t> first;
  std::vector<std::int32_t> weight;
  friend bool operator==(const Axis &, const Axis &) = default;
};

// `picture` pixels are shown in `content` pixels; the plane has `samples` of them.
Axis make_axis(std::uint32_t picture, std::uint32_t content, std::uint32_t samples, Siting siting);

// Where the picture goes in one direction: `size` pixels after `start`.
struct Extent {
  std::uint32_t start = 0;
  std::uint32_t size = 0;
};

// A picture in a room of `room` pixels. `along` and `across`, below 2^47, are to each other as the
// picture's sides on a screen; `across_room` is the room in the other direction. Letterbox takes
// the smaller of both scales.
Extent letterbox(std::uint64_t along, std::uint32_t room, std::uint64_t across,
                 std::uint32_t across_room);

} // namespace gstdrm::metis
