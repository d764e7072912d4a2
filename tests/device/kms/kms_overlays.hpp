// SPDX-License-Identifier: LGPL-2.1-or-later
// Cases of the program kms_cursor about GstVideoOverlayComposition on a plane over the picture.
#pragma once

#include <memory>
#include <vector>

#include <gst/video/video-overlay-composition.h>

#include "kms_support.hpp"

namespace gstdrm::test {

// A rectangle of one colour, 0xAARRGGBB, not premultiplied.
struct Box {
  int x, y, width, height;
  guint32 colour;
  int pixels_width = 0, pixels_height = 0; // 0: as many as it covers
  bool premultiplied = false;
  float alpha = 1; // of the whole
};

struct CompositionUnref {
  void operator()(GstVideoOverlayComposition *composition) const noexcept
  {
    gst_video_overlay_composition_unref(composition);
  }
};
using Composition = std::unique_ptr<GstVideoOverlayComposition, CompositionUnref>;

Composition compose(const std::vector<Box> &boxes);

void add_overlay_cases(TCase *tc);
void add_plane_choice_cases(Suite *suite); // kms_plane_choice.cpp
void add_overlay_cases_on_virtual_time(TCase *tc);
// kms_overlay_elements.cpp
void add_overlay_element_cases(TCase *tc);

} // namespace gstdrm::test
