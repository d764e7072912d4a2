// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures to compare the screen with, pixel by pixel, and a sink that shows one.
#pragma once

#include <vector>

#include "kms_support.hpp"

namespace gstdrm::test {

struct Image {
  int width = 0, height = 0;
  std::vector<guint32> pixels; // 0x00RRGGBB

  Image(int w, int h) : width(w), height(h), pixels(static_cast<std::size_t>(w) * h, 0) {}
  guint32 &at(int x, int y) { return pixels[static_cast<std::size_t>(y) * width + x]; }
  [[nodiscard]] guint32 at(int x, int y) const
  {
    return pixels[static_cast<std::size_t>(y) * width + x];
  }
};

// Of 8-bit RGB in 32 bits; what is not colour is left out.
Image image_of(const GstVideoInfo &info, GstBuffer *buffer);
Image screen_of(GstSample *sample);

// Black with the part of the picture at x, y.
Image on_black(int width, int height, const Image &picture, int x, int y);
Image cut(const Image &from, int x, int y, int width, int height);
Image mirrored(const Image &from, bool x_axis, bool y_axis);
// By 90 degrees counter-clockwise, `times` times.
Image turned(const Image &from, int times);
// To another size, each pixel from the one of the picture that its middle lies in.
Image scaled(const Image &from, int width, int height);

void compare(const char *row, const Image &got, const Image &expected);

// A sink, and a picture of noise to show.
struct Show {
  Sink sink;
  GstVideoInfo info;
  GstPtr<GstBuffer> noise;
  Image picture;

  Show(const char *properties, int width, int height);
  void push();
  // The first frame sets the mode, and the second is a flip. `more` is appended to the caps.
  void start(const char *more = "");
  Image screen(const char *row);
};

} // namespace gstdrm::test
