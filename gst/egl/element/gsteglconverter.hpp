// SPDX-License-Identifier: LGPL-2.1-or-later
// Pixels converted by the CPU, one picture after the other.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/video/video.h>

namespace gstdrm {

// GStreamer's converter, but for YUV to RGBA, which is as exact as 8 bits are: GstVideoConverter is
// off by up to 5.7 of 255 with 8 bits, and by more than 1 with 10
// (tests/device/egl/egl_pipeline.cpp), so there it only brings each pixel its chroma. A picture
// without alpha becomes opaque. One thread.
class FrameConverter {
public:
  // From one kind of pictures to another, of the same size. nullptr: the converter cannot do that.
  static std::unique_ptr<FrameConverter> create(const GstVideoInfo &from, const GstVideoInfo &to);
  void convert(GstVideoFrame *from, GstVideoFrame *to);

private:
  struct Free {
    void operator()(GstVideoConverter *converter) const noexcept
    {
      gst_video_converter_free(converter);
    }
  };
  // For each of R, G, B: the factors of Y, U, V, and what is added, in steps of 2^-32.
  using Factors = std::array<std::array<std::int64_t, 4>, 3>;

  FrameConverter() = default;
  bool open();
  bool set_up_exact(const GstVideoInfo &to);
  template <typename Sample> void convert_rows(const GstVideoFrame &pixels, GstVideoFrame *to);

  GstVideoInfo from_{};
  GstVideoInfo to_{}; // what converter_ writes
  std::unique_ptr<GstVideoConverter, Free> converter_;
  GstPtr<GstBuffer>
      pixels_; // AYUV or AYUV64, on the way to RGBA; none: converter_ writes the result
  Factors factors_{};
};

} // namespace gstdrm
