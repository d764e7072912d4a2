// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes and labels over a frame: the areas of a box's lines, and the pixels of its label.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gstdrm::metis {

using Argb = std::uint32_t; // 0xAARRGGBB

struct Area {
  int x = 0, y = 0;
  int width = 0, height = 0; // pixels
  friend bool operator==(const Area &, const Area &) = default;
};

struct Bitmap {
  int width = 0, height = 0; // pixels
  std::vector<Argb> pixels;  // row by row
};

// Sizes of lines and letters for a frame of that height.
struct Pen {
  int line = 2;   // pixels; even, because NV12 has a chroma sample for two pixels
  int letter = 1; // pixels per dot of a letter
};
Pen pen_for(int frame_height);

// The four lines of a box, within it; one area if the box is too small for a hole; none if it is
// empty.
std::vector<Area> outline(const Area &box, int line);

// The part of the box within the frame; width or height is 0 if there is none.
Area clipped(const Area &box, int frame_width, int frame_height);

// One line of text on a ground of that colour. Draws '?' for each character beyond ASCII, and 48
// characters at most.
Bitmap draw_label(const std::string &text, int letter, Argb ground);

// Above the box if there is room, else at its upper edge; within the frame if it fits.
Area place_label(const Bitmap &label, const Area &box, int frame_width, int frame_height);

// The same colour for the same name.
Argb colour_of(const std::string &name);

} // namespace gstdrm::metis
