// SPDX-License-Identifier: LGPL-2.1-or-later
// What vadmabufconvert's pictures are compared with: a conversion of its own, in floating point.
#pragma once

#include <array>
#include <string>

#include "va_support.hpp"

namespace gstdrm::test {

// R, G, B of a pixel, 0 to 255, by the colorimetry of the caps where the frame is YUV.
std::array<double, 3> rgb_at(const Frame &frame, std::uint32_t x, std::uint32_t y);

// How `got` was made of `from`: turned clockwise by quarter turns, mirrored, then scaled into the
// area of `got`; the rest is black.
struct Expected {
  int quarter_turns = 0;
  bool mirror_x = false;
  bool mirror_y = false;
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t width = 0;  // 0: the whole frame
  std::uint32_t height = 0;
  // the part of `from`
  std::uint32_t part_x = 0;
  std::uint32_t part_y = 0;
  std::uint32_t part_width = 0; // 0: all
  std::uint32_t part_height = 0;
};
// Compares every second pixel in both directions, those whose chroma is stored.
void compare_pixels(const std::string &name, const Frame &from, const Frame &got,
                    const Expected &expected, double tolerance);

} // namespace gstdrm::test
