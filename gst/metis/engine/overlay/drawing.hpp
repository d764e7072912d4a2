// SPDX-License-Identifier: LGPL-2.1-or-later
// What is drawn over a frame: where the lines of a box are, and the pixels of its label.
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

// Sizes of lines and letters that suit a frame of that height.
struct Pen {
  int line = 2;   // pixels; even, as are the chroma samples of NV12
  int letter = 1; // pixels per dot of a letter
};
Pen pen_for(int frame_height);

// The four lines of a box, inside of it; a box that is too small for a hole is one area. Empty
// areas are left out.
std::vector<Area> outline(const Area &box, int line);

// The box within the frame; no extent where nothing of it is.
Area clipped(const Area &box, int frame_width, int frame_height);

// One line of text on a ground of that colour. Each character beyond ASCII becomes one '?', and
// text beyond 48 characters is cut.
Bitmap draw_label(const std::string &text, int letter, Argb ground);

// Above the box where there is room, else at its upper edge; within the frame where it fits.
Area place_label(const Bitmap &label, const Area &box, int frame_width, int frame_height);

// The same colour for the same name.
Argb colour_of(const std::string &name);

} // namespace gstdrm::metis
