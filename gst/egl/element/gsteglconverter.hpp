// SPDX-License-Identifier: LGPL-2.1-or-later
// GStreamer's converter of pixels, for one picture after the other.
#pragma once

#include <memory>

#include <gst/video/video.h>

namespace gstdrm {

// A picture without alpha becomes opaque. One thread.
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
  FrameConverter() = default;
  bool open();

  GstVideoInfo from_{};
  GstVideoInfo to_{};
  std::unique_ptr<GstVideoConverter, Free> converter_;
};

} // namespace gstdrm
