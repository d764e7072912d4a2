// SPDX-License-Identifier: LGPL-2.1-or-later
// The software "GPU": copies a rectangle of one surface to a rectangle of another, scaled by
// nearest neighbour and converted between the driver's formats.
#pragma once

#include <array>
#include <cstdint>

#include "surface.hpp"

namespace gstdrm::test::vadriver {

struct Rect {
  std::int32_t x = 0;
  std::int32_t y = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

struct Colours {
  Matrix matrix{};
  bool full_range = false; // of YUV
  friend bool operator==(const Colours &, const Colours &) = default;
};
// Of the YUV on either side; both sides where there is only one.
struct Conversion {
  Colours from;
  Colours to;
};

// R, G, B, A or Y, U, V, A with 16 bits each; YUV in units of 8 bits, scaled by 256.
using Pixel = std::array<std::uint16_t, 4>;

// First turned clockwise, or mirrored, then scaled (va_vpp.h, rotation_state).
enum class Turn { None, Right90, Half, Left90, MirrorX, MirrorY };

// Which lines of the source are shown: all, or one field's, each of them twice.
enum class Field { Both, Top, Bottom };

struct Lines {
  Field field = Field::Both;
  const Surface *before = nullptr; // pixels that are as in this one are shown from both fields
};

// Rectangles are clipped by the caller. Same format, same size, not turned: bits are kept as they
// are.
void blit(const Surface &from, const Rect &source, const Surface &to, const Rect &target,
          const Conversion &colours, Turn turn = Turn::None, const Lines &lines = {});
// `argb`: 0xAARRGGBB, 8 bits each.
void fill(const Surface &to, const Rect &target, std::uint32_t argb, const Conversion &colours);

Pixel read_pixel(const Surface &surface, std::uint32_t x, std::uint32_t y);
// Chroma that several pixels share is written by the first of them.
void write_pixel(const Surface &surface, std::uint32_t x, std::uint32_t y, const Pixel &pixel);
Pixel convert(const Pixel &pixel, Model from, Model to, const Conversion &colours);

} // namespace gstdrm::test::vadriver
