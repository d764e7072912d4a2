// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <array>
#include <cmath>

#include "preprocess_rivals.hpp"

namespace gstdrm::bench {

namespace {

// Elements in a row, from and to every `step`-th byte.
template <typename Convert>
void row(const std::uint8_t *__restrict rgb, std::size_t size, bool planar, std::size_t channels,
         std::size_t plane, std::int8_t *__restrict tensor, Convert convert)
{
  if (planar) {
    for (std::size_t channel = 0; channel < 3; ++channel)
      for (std::size_t x = 0; x < size; ++x)
        tensor[channel * plane + x] = convert(rgb[3 * x + channel]);
  } else if (channels == 3) {
    for (std::size_t x = 0; x < 3 * size; ++x)
      tensor[x] = convert(rgb[x]);
  } else {
    for (std::size_t x = 0; x < size; ++x) {
      tensor[4 * x] = convert(rgb[3 * x]);
      tensor[4 * x + 1] = convert(rgb[3 * x + 1]);
      tensor[4 * x + 2] = convert(rgb[3 * x + 2]);
      tensor[4 * x + 3] = -128;
    }
  }
}

} // namespace

void quantise_rgb(const std::uint8_t *rgb, std::size_t stride, std::size_t size,
                  const Quantise &quantise, bool planar, std::size_t channels, std::int8_t *tensor)
{
  std::array<std::int8_t, 256> table{};
  for (int channel = 0; channel < 256; ++channel)
    table[static_cast<std::size_t>(channel)] = static_cast<std::int8_t>(
        std::clamp(std::floor(channel * quantise.slope + quantise.offset + 0.5), -128.0, 127.0));
  const std::size_t row_elements = planar ? size : size * channels;
  const bool is_shift = quantise.slope == 1 && quantise.offset == -128;
  for (std::size_t y = 0; y < size; ++y) {
    std::int8_t *to = tensor + y * row_elements;
    if (is_shift)
      row(rgb + y * stride, size, planar, channels, size * size, to,
          [](std::uint8_t level) { return static_cast<std::int8_t>(level - 128); });
    else
      row(rgb + y * stride, size, planar, channels, size * size, to,
          [&](std::uint8_t level) { return table[level]; });
  }
}

} // namespace gstdrm::bench
