// SPDX-License-Identifier: LGPL-2.1-or-later
// YUV to RGBA by the CPU, as exact as 8 bits are. GstVideoConverter is off by up to 5.7 of 255 with
// 8 bits, and by more than 1 with 10 (tests/device/egl/egl_pipeline.cpp); here it only brings each
// pixel its chroma.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/video/video.h>

#include "gsteglconverter.hpp"

namespace gstdrm {

class YuvToRgba {
public:
  // nullptr: not YUV to RGBA, or in a matrix without coefficients.
  static std::unique_ptr<YuvToRgba> create(const GstVideoInfo &in, const GstVideoInfo &out);
  void convert(GstVideoFrame *from, GstVideoFrame *to);

private:
  // For each of R, G, B: the factors of Y, U, V, and what is added, in steps of 2^-32.
  using Factors = std::array<std::array<std::int64_t, 4>, 3>;

  YuvToRgba() = default;
  template <typename Sample> void convert_rows(const GstVideoFrame &pixels, GstVideoFrame *to);

  GstVideoInfo pixels_info_{}; // AYUV or AYUV64
  std::unique_ptr<FrameConverter> to_pixels_;
  GstPtr<GstBuffer> pixels_;
  Factors factors_{};
};

} // namespace gstdrm
