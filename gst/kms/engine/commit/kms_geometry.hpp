// SPDX-License-Identifier: LGPL-2.1-or-later
// Which part of a picture goes where on the screen. Pure functions; units are pixels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gstdrm::kms {

struct Rectangle {
  std::int32_t x = 0;
  std::int32_t y = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  friend bool operator==(const Rectangle &, const Rectangle &) = default;
};

// "640x480 at 10,20"
std::string describe_rectangle(const Rectangle &rectangle);
// What both cover; nullopt if they do not meet.
std::optional<Rectangle> intersect(const Rectangle &a, const Rectangle &b);

enum class Fit {
  Contain, // as large as fits, the whole picture, in its aspect ratio
  Cover,   // the whole area, in the picture's aspect ratio, cropped
  None,    // pixel for pixel, centred, and cropped where too large
  Fill,    // the whole picture in the whole area, in the area's aspect ratio
};

// Whether the user wants a part of the picture rather than all of it in a smaller size.
constexpr bool may_crop(Fit fit) noexcept
{
  return fit == Fit::Cover || fit == Fit::None;
}

struct Shape {
  std::uint32_t width = 0; // as it lies in memory
  std::uint32_t height = 0;
  std::uint32_t par_n = 1; // pixel aspect ratio, width to height
  std::uint32_t par_d = 1;
  bool turned = false;            // by 90 or 270 degrees on its way to the screen
  double screen_pixel_aspect = 1; // width to height of the screen's pixels
};

struct Placement {
  Rectangle source;      // of the picture as it lies in memory
  Rectangle destination; // on the screen
  bool scaled = false;
};

// A crop begins and ends at even pixels, so that chroma of half the resolution is not split. An
// empty shape or area gives an empty placement.
Placement place(const Shape &shape, const Rectangle &area, Fit fit);

} // namespace gstdrm::kms
