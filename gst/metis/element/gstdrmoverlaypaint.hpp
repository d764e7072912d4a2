// SPDX-License-Identifier: LGPL-2.1-or-later
// Opaque areas written into the planes of a frame.
#pragma once

#include <vector>

#include <gst/video/video.h>

#include "engine/overlay/drawing.hpp"

namespace gstdrm {

// A line in one colour, or a label.
struct Patch {
  metis::Area area;
  metis::Argb colour = 0;
  std::vector<metis::Argb> pixels; // of a label, row by row
};

// Whether each component of the format is a byte, so that paint() can write it.
bool is_paintable(const GstVideoInfo &info);

// GStreamer's own blending converts whole rows of the frame for each of the areas, there and back.
// Chroma samples that an area covers in part become its colour.
void paint(GstVideoFrame &frame, const std::vector<Patch> &patches);

} // namespace gstdrm
