// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gsteglconverter.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <gst/drm/element/mapped_frame.hpp>

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

constexpr double kOne = 4294967296.0; // 2^32

// What a sample of AYUV or AYUV64 is in steps of the frame's own depth: the converter repeats the
// upper bits below, so that the largest values are the same.
double step_of(const GstVideoInfo &in, const GstVideoInfo &pixels)
{
  const auto largest = [](const GstVideoInfo &info) {
    return static_cast<double>((1U << GST_VIDEO_INFO_COMP_DEPTH(&info, 0)) - 1);
  };
  return largest(in) / largest(pixels);
}

} // namespace

std::unique_ptr<FrameConverter> FrameConverter::create(const GstVideoInfo &from,
                                                       const GstVideoInfo &to)
{
  std::unique_ptr<FrameConverter> made(new FrameConverter);
  made->from_ = from;
  if (!made->set_up_exact(to))
    made->to_ = to;
  return made->open() ? std::move(made) : nullptr;
}

bool FrameConverter::open()
{
  converter_.reset(gst_video_converter_new(&from_, &to_, nullptr));
  return converter_ != nullptr;
}

// Returns false for what is not YUV to RGBA, or in a matrix without coefficients.
bool FrameConverter::set_up_exact(const GstVideoInfo &to)
{
  gdouble red = 0;
  gdouble blue = 0;
  if (!GST_VIDEO_INFO_IS_YUV(&from_) || GST_VIDEO_INFO_FORMAT(&to) != GST_VIDEO_FORMAT_RGBA ||
      !gst_video_color_matrix_get_Kr_Kb(from_.colorimetry.matrix, &red, &blue))
    return false;
  const bool wide = GST_VIDEO_INFO_COMP_DEPTH(&from_, 0) > 8;
  gst_video_info_set_format(&to_, wide ? GST_VIDEO_FORMAT_AYUV64 : GST_VIDEO_FORMAT_AYUV,
                            static_cast<guint>(GST_VIDEO_INFO_WIDTH(&from_)),
                            static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&from_)));
  to_.colorimetry = from_.colorimetry;
  to_.fps_n = from_.fps_n;
  to_.fps_d = from_.fps_d;
  to_.interlace_mode = from_.interlace_mode;
  pixels_ = GstPtr<GstBuffer>::adopt(
      gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&to_), nullptr));
  if (!pixels_)
    return false;

  std::array<gint, GST_VIDEO_MAX_COMPONENTS> offset{};
  std::array<gint, GST_VIDEO_MAX_COMPONENTS> scale{};
  gst_video_color_range_offsets(from_.colorimetry.range, from_.finfo, offset.data(), scale.data());
  // ITU-R BT.601 and its successors: what R, G and B have of luma and of the two differences
  const double green = 1 - red - blue;
  const std::array<std::array<double, 3>, 3> shares{
      {{1, 0, 2 * (1 - red)},
       {1, -2 * blue * (1 - blue) / green, -2 * red * (1 - red) / green},
       {1, 2 * (1 - blue), 0}}};
  const double step = step_of(from_, to_);
  for (std::size_t c = 0; c < shares.size(); c++) {
    double added = 0.5; // rounds
    for (std::size_t i = 0; i < 3; i++) {
      const double factor = 255 * shares[c][i] / scale[i];
      factors_[c][i] = std::llround(factor * step * kOne);
      added -= factor * offset[i];
    }
    factors_[c][3] = std::llround(added * kOne);
  }
  return true;
}

template <typename Sample>
void FrameConverter::convert_rows(const GstVideoFrame &pixels, GstVideoFrame *to)
{
  const auto *from_row = static_cast<const std::uint8_t *>(GST_VIDEO_FRAME_PLANE_DATA(&pixels, 0));
  auto *to_row = static_cast<std::uint8_t *>(GST_VIDEO_FRAME_PLANE_DATA(to, 0));
  for (gint y = 0; y < GST_VIDEO_FRAME_HEIGHT(to); y++) {
    const auto *sample = reinterpret_cast<const Sample *>(from_row);
    std::uint8_t *byte = to_row;
    for (gint x = 0; x < GST_VIDEO_FRAME_WIDTH(to); x++, sample += 4) {
      for (const auto &[luma, blue, red, added] : factors_) {
        const std::int64_t value = luma * sample[1] + blue * sample[2] + red * sample[3] + added;
        *byte++ = static_cast<std::uint8_t>(std::clamp<std::int64_t>(value >> 32, 0, 255));
      }
      *byte++ = static_cast<std::uint8_t>(sample[0] >> (8 * (sizeof(Sample) - 1)));
    }
    from_row += GST_VIDEO_FRAME_PLANE_STRIDE(&pixels, 0);
    to_row += GST_VIDEO_FRAME_PLANE_STRIDE(to, 0);
  }
}

void FrameConverter::convert(GstVideoFrame *from, GstVideoFrame *to)
{
  if (GST_VIDEO_INFO_HEIGHT(&from_) <= kLinesKept && !open())
    return; // it was possible before
  if (!pixels_) {
    gst_video_converter_frame(converter_.get(), from, to);
    make_opaque(from_, to);
    return;
  }
  MappedFrame pixels(pixels_.get(), to_, GST_MAP_READWRITE); // system memory: cannot fail
  gst_video_converter_frame(converter_.get(), from, pixels.get());
  if (GST_VIDEO_INFO_FORMAT(&to_) == GST_VIDEO_FORMAT_AYUV)
    convert_rows<std::uint8_t>(*pixels.get(), to);
  else
    convert_rows<std::uint16_t>(*pixels.get(), to);
}

} // namespace gstdrm
