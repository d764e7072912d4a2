// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws the images of an overlay in memory. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "kms_overlay.hpp"

namespace gstdrm::kms {

// Where a place in the picture is on the screen, if the picture's `from` is shown at `to`. Each
// edge is rounded for itself, so that neighbours stay neighbours.
Rectangle map_place(const Rectangle &place, const Rectangle &from, const Rectangle &to);

// Memory of 4 bytes per pixel, whose pixel 0,0 is pixel x,y of the screen.
struct Canvas {
  std::uint8_t *pixels = nullptr;
  std::uint32_t stride_bytes = 0;
  std::int32_t x = 0;
  std::int32_t y = 0;
};

enum class Over {
  Nothing, // the pixels are new, and the canvas is written alone: reading scanout memory is slow
  Image,   // blends
};

// Draws the part of the image that lies in `visible`, which lies in the canvas. The whole image
// covers `place` of the screen; where that has another size, the image is scaled, bilinear.
void draw_image(const Canvas &canvas, const OverlayImage &image, const Rectangle &place,
                const Rectangle &visible, Over over);

// Makes a part of the canvas transparent.
void clear_area(const Canvas &canvas, const Rectangle &area);

} // namespace gstdrm::kms
