// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_overlay_pixels.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace gstdrm::kms {

namespace {

constexpr std::int64_t kFarthest = 1 << 28; // pixels: beyond every screen, and far from overflow
constexpr int kFraction = 8;                // bits of a weight

std::int32_t map_edge(std::int64_t at, std::int64_t from, std::int64_t from_length, std::int64_t to,
                      std::int64_t to_length)
{
  const std::int64_t scaled = (at - from) * to_length * 2 + from_length; // plus one half
  const std::int64_t twice = from_length * 2;
  const std::int64_t whole = scaled / twice - (scaled % twice < 0 ? 1 : 0);
  return static_cast<std::int32_t>(std::clamp(to + whole, -kFarthest, kFarthest));
}

// Where a pixel of the screen lies between two pixels of an image.
struct Sample {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  std::uint32_t weight = 0; // of the second, of 1 << kFraction
};

Sample sample_at(std::int64_t index, std::int64_t place_length, std::int64_t image_length)
{
  // the middles of the pixels lie over each other
  const std::int64_t middle =
      (index * 2 + 1) * image_length * (1 << kFraction) / (place_length * 2);
  const std::int64_t at = std::clamp<std::int64_t>(middle - (1 << (kFraction - 1)), 0,
                                                   (image_length - 1) * (1 << kFraction));
  const auto first = static_cast<std::uint32_t>(at >> kFraction);
  return {first, std::min(first + 1, static_cast<std::uint32_t>(image_length - 1)),
          static_cast<std::uint32_t>(at & ((1 << kFraction) - 1))};
}

std::uint8_t mix(std::uint32_t a, std::uint32_t b, std::uint32_t weight)
{
  return static_cast<std::uint8_t>((a * ((1U << kFraction) - weight) + b * weight) >> kFraction);
}

// One row of the image as it looks on screen, from `first` pixels into its place on.
void scale_row(const OverlayImage &image, const Rectangle &place, std::int64_t y,
               std::int64_t first, std::vector<std::uint8_t> &row)
{
  const Sample v = sample_at(y, place.height, image.height);
  const std::uint8_t *upper = image.pixels + std::size_t{v.first} * image.stride_bytes;
  const std::uint8_t *lower = image.pixels + std::size_t{v.second} * image.stride_bytes;
  for (std::size_t i = 0; i * 4 < row.size(); i++) {
    const Sample h = sample_at(first + static_cast<std::int64_t>(i), place.width, image.width);
    for (std::size_t c = 0; c < 4; c++) {
      const std::size_t left = std::size_t{h.first} * 4 + c, right = std::size_t{h.second} * 4 + c;
      row[i * 4 + c] = mix(mix(upper[left], upper[right], h.weight),
                           mix(lower[left], lower[right], h.weight), v.weight);
    }
  }
}

// "source over", both with colours that are multiplied by alpha.
void blend_row(std::uint8_t *to, const std::uint8_t *from, std::size_t bytes)
{
  for (std::size_t i = 0; i < bytes; i += 4) {
    const unsigned left = 255U - from[i + 3];
    for (std::size_t c = i; c < i + 4; c++)
      to[c] = static_cast<std::uint8_t>(std::min(255U, from[c] + (to[c] * left + 127) / 255));
  }
}

std::uint8_t *pixel_at(const Canvas &canvas, std::int32_t x, std::int32_t y)
{
  return canvas.pixels + static_cast<std::size_t>(y - canvas.y) * canvas.stride_bytes +
         static_cast<std::size_t>(x - canvas.x) * 4;
}

} // namespace

Rectangle map_place(const Rectangle &place, const Rectangle &from, const Rectangle &to)
{
  if (from.width == 0 || from.height == 0)
    return {};
  const std::int32_t left = map_edge(place.x, from.x, from.width, to.x, to.width);
  const std::int32_t right =
      map_edge(std::int64_t{place.x} + place.width, from.x, from.width, to.x, to.width);
  const std::int32_t top = map_edge(place.y, from.y, from.height, to.y, to.height);
  const std::int32_t bottom =
      map_edge(std::int64_t{place.y} + place.height, from.y, from.height, to.y, to.height);
  return {left, top, static_cast<std::uint32_t>(right - left),
          static_cast<std::uint32_t>(bottom - top)};
}

void draw_image(const Canvas &canvas, const OverlayImage &image, const Rectangle &place,
                const Rectangle &visible, Over over)
{
  const bool scaled = place.width != image.width || place.height != image.height;
  const std::size_t bytes = std::size_t{visible.width} * 4;
  const std::int64_t first = std::int64_t{visible.x} - place.x;
  std::vector<std::uint8_t> row(scaled ? bytes : 0);
  for (std::int64_t y = visible.y; y < std::int64_t{visible.y} + visible.height; y++) {
    const std::int64_t image_y = y - place.y;
    const std::uint8_t *from = row.data();
    if (scaled)
      scale_row(image, place, image_y, first, row);
    else
      from = image.pixels + static_cast<std::size_t>(image_y) * image.stride_bytes +
             static_cast<std::size_t>(first) * 4;
    std::uint8_t *to = pixel_at(canvas, visible.x, static_cast<std::int32_t>(y));
    if (over == Over::Nothing)
      std::memcpy(to, from, bytes);
    else
      blend_row(to, from, bytes);
  }
}

void clear_area(const Canvas &canvas, const Rectangle &area)
{
  for (std::uint32_t row = 0; row < area.height; row++)
    std::memset(pixel_at(canvas, area.x, area.y + static_cast<std::int32_t>(row)), 0,
                std::size_t{area.width} * 4);
}

} // namespace gstdrm::kms
