// SPDX-License-Identifier: LGPL-2.1-or-later
#include "axis.hpp"

#include <algorithm>

namespace gstdrm::metis {

Axis make_axis(std::uint32_t picture, std::uint32_t content, std::uint32_t samples, Siting siting)
{
  const std::int64_t per_pixel = siting == Siting::Pixel ? 64 : 32;
  const std::int64_t centre = siting == Siting::HalfOnFirst ? 32 : 64;
  const std::int64_t last = 128 * (static_cast<std::int64_t>(samples) - 1);
  Axis axis;
  axis.first.reserve(content);
  axis.weight.reserve(content);
  for (std::int64_t x = 0; x < content; ++x) {
    // both operands are positive: the division rounds down
    const std::int64_t centred = ((2 * x + 1) * picture * per_pixel * 2 + content) /
                                 (2 * static_cast<std::int64_t>(content));
    const std::int64_t position = std::clamp<std::int64_t>(centred - centre, 0, last);
    axis.first.push_back(static_cast<std::uint32_t>(position / 128));
    axis.weight.push_back(static_cast<std::int32_t>(position % 128));
  }
  return axis;
}

Extent letterbox(std::uint64_t along, std::uint32_t room, std::uint64_t across,
                 std::uint32_t across_room)
{
  const std::uint64_t along_limits = room * across;
  const std::uint64_t across_limits = across_room * along;
  if (along_limits <= across_limits)
    return {0, room};
  const std::uint64_t rounded = (across_limits + across / 2) / across;
  const auto size = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(rounded, 1, room));
  return {(room - size) / 2, size};
}

} // namespace gstdrm::metis
