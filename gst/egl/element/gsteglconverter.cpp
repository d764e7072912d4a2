// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gsteglconverter.hpp"

#include <utility>

namespace gstdrm {

namespace {

// GstVideoConverter keeps the lines that it works with at a time, of interlaced 4:2:0 four, and
// takes those of the picture before for those of the next one where a picture has no more lines
// than that (seen with 1.22).
constexpr gint kLinesKept = 8;

// The converter hands the byte that means nothing in RGBx and BGRx on as the alpha of RGBA, and
// between these no option of its own (alpha-mode) helps.
void make_opaque(const GstVideoInfo &from, GstVideoFrame *frame)
{
  const GstVideoFormatInfo *made = frame->info.finfo;
  if (!GST_VIDEO_INFO_IS_RGB(&from) || GST_VIDEO_INFO_HAS_ALPHA(&from) ||
      !GST_VIDEO_FORMAT_INFO_HAS_ALPHA(made) ||
      GST_VIDEO_FORMAT_INFO_DEPTH(made, GST_VIDEO_COMP_A) != 8)
    return;
  const auto stride = static_cast<gsize>(GST_VIDEO_FRAME_COMP_STRIDE(frame, GST_VIDEO_COMP_A));
  const auto step = static_cast<gsize>(GST_VIDEO_FRAME_COMP_PSTRIDE(frame, GST_VIDEO_COMP_A));
  auto *row = static_cast<guint8 *>(GST_VIDEO_FRAME_COMP_DATA(frame, GST_VIDEO_COMP_A));
  for (gint y = 0; y < GST_VIDEO_FRAME_HEIGHT(frame); y++, row += stride)
    for (gint x = 0; x < GST_VIDEO_FRAME_WIDTH(frame); x++)
      row[static_cast<gsize>(x) * step] = 255;
}

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
  make_opaque(from_, to);
}

} // namespace gstdrm
