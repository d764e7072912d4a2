// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gsteglconverter.hpp"

#include <utility>

namespace gstdrm {

namespace {

// GstVideoConverter keeps the lines that it works with at a time, of interlaced 4:2:0 four, and
// takes those of the picture before for those of the next one where a picture has no more lines
// than that (seen with 1.22).
constexpr gint kLinesKept = 8;

} // namespace

std::unique_ptr<FrameConverter> FrameConverter::create(const GstVideoInfo &from,
                                                       const GstVideoInfo &to)
{
  std::unique_ptr<FrameConverter> made(new FrameConverter);
  made->from_ = from;
  made->to_ = to;
  return made->open() ? std::move(made) : nullptr;
}

bool FrameConverter::open()
{
  GstVideoInfo from = from_; // GStreamer does not say const
  GstVideoInfo to = to_;
  converter_.reset(gst_video_converter_new(&from, &to, nullptr));
  return converter_ != nullptr;
}

void FrameConverter::convert(GstVideoFrame *from, GstVideoFrame *to)
{
  if (GST_VIDEO_INFO_HEIGHT(&from_) <= kLinesKept && !open())
    return; // it was possible before
  gst_video_converter_frame(converter_.get(), from, to);
}

} // namespace gstdrm
