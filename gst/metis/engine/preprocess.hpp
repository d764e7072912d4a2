// SPDX-License-Identifier: LGPL-2.1-or-later
// From a frame's planes to a model's input tensor in one pass: resize, colour conversion,
// normalisation, quantisation and layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <gst/drm/core/result.hpp>

#include "model.hpp"

namespace gstdrm::metis {

enum class ColorMatrix { Bt601, Bt709, Bt2020 };

// A frame in CPU memory: linear planes of NV12, or one plane of RGB.
struct PictureView {
  std::uint32_t fourcc = 0; // DRM_FORMAT_*
  std::uint32_t width = 0;  // pixels
  std::uint32_t height = 0;
  std::array<const std::uint8_t *, 3> planes{};
  std::array<std::uint32_t, 3> strides{}; // bytes
  ColorMatrix matrix = ColorMatrix::Bt601;
  bool full_range = false;
};

// Where the picture lies in the input tensor's pixels, for boxes on their way back: x_tensor =
// x_picture * scale_x + offset_x.
struct Placement {
  float scale_x = 1, scale_y = 1;
  float offset_x = 0, offset_y = 0;
};

} // namespace gstdrm::metis
