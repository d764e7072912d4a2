// SPDX-License-Identifier: LGPL-2.1-or-later
// The pixel formats that the test driver knows, by their VA and DRM names.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <va/va.h>

namespace gstdrm::test::vadriver {

enum class Model { Rgb, Yuv };

// How pixels lie in the planes.
enum class Packing {
  Rgb32,      // one plane, 4 bytes a pixel; `order` says where each component is
  Rgb10,      // one plane, 4 bytes a pixel, 10 bits a component, 2 of alpha
  SemiPlanar, // Y, then interleaved UV at half size
  Planar,     // Y, U, V (or V, U), chroma at half size
  Packed422,  // 2 pixels in 4 bytes; `order` says where Y0 U Y1 V are
};

struct PlaneShape {
  std::uint32_t layer_format = 0; // DRM fourcc of the plane as a layer of its own
  std::uint8_t bytes = 0;         // of one sample position
  std::uint8_t hsub = 1;
  std::uint8_t vsub = 1;
};

struct PixelFormat {
  std::uint32_t va_fourcc = 0;
  std::uint32_t drm_fourcc = 0;
  std::uint32_t rt_format = 0;
  Model model{};
  Packing packing{};
  std::uint8_t depth = 8; // bits a component; 10 sits in the high bits of 16
  // Rgb32: byte of R, G, B, A. Packed422: byte of Y0, U, Y1, V. Planar: plane of Y, U, V.
  std::array<std::uint8_t, 4> order{};
  bool alpha = false;
  std::uint8_t n_planes = 1;
  std::array<PlaneShape, 3> planes{};
};

std::span<const PixelFormat> all_formats();
const PixelFormat *format_by_va(std::uint32_t va_fourcc);
const PixelFormat *format_by_drm(std::uint32_t drm_fourcc);
VAImageFormat image_format(const PixelFormat &format);

} // namespace gstdrm::test::vadriver
