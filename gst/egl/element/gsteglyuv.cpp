// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gsteglyuv.hpp"

#include <algorithm>
#include <cmath>

namespace gstdrm {
namespace {

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

std::unique_ptr<YuvToRgba> YuvToRgba::create(const GstVideoInfo &in, const GstVideoInfo &out)
{
  gdouble red = 0;
  gdouble blue = 0;
  if (!GST_VIDEO_INFO_IS_YUV(&in) || GST_VIDEO_INFO_FORMAT(&out) != GST_VIDEO_FORMAT_RGBA ||
      !gst_video_color_matrix_get_Kr_Kb(in.colorimetry.matrix, &red, &blue))
    return nullptr;
  std::unique_ptr<YuvToRgba> made(new YuvToRgba);
  GstVideoInfo &pixels = made->pixels_info_;
  const bool wide = GST_VIDEO_INFO_COMP_DEPTH(&in, 0) > 8;
  gst_video_info_set_format(&pixels, wide ? GST_VIDEO_FORMAT_AYUV64 : GST_VIDEO_FORMAT_AYUV,
                            static_cast<guint>(GST_VIDEO_INFO_WIDTH(&in)),
                            static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&in)));
  pixels.colorimetry = in.colorimetry;
  pixels.fps_n = in.fps_n;
  pixels.fps_d = in.fps_d;
  pixels.interlace_mode = in.interlace_mode;
  made->to_pixels_ = FrameConverter::create(in, pixels);
  made->pixels_ = GstPtr<GstBuffer>::adopt(
      gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&pixels), nullptr));
  if (!made->to_pixels_ || !made->pixels_)
    return nullptr;

  std::array<gint, GST_VIDEO_MAX_COMPONENTS> offset{};
  std::array<gint, GST_VIDEO_MAX_COMPONENTS> scale{};
  gst_video_color_range_offsets(in.colorimetry.range, in.finfo, offset.data(), scale.data());
  // ITU-R BT.601 and its successors: what R, G and B have of luma and of the two differences
  const double green = 1 - red - blue;
  const std::array<std::array<double, 3>, 3> shares{
      {{1, 0, 2 * (1 - red)},
       {1, -2 * blue * (1 - blue) / green, -2 * red * (1 - red) / green},
       {1, 2 * (1 - blue), 0}}};
  const double step = step_of(in, pixels);
  for (std::size_t c = 0; c < shares.size(); c++) {
    double added = 0.5; // rounds
    for (std::size_t i = 0; i < 3; i++) {
      const double factor = 255 * shares[c][i] / scale[i];
      made->factors_[c][i] = std::llround(factor * step * kOne);
      added -= factor * offset[i];
    }
    made->factors_[c][3] = std::llround(added * kOne);
  }
  return made;
}

template <typename Sample>
void YuvToRgba::convert_rows(const GstVideoFrame &pixels, GstVideoFrame *to)
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

void YuvToRgba::convert(GstVideoFrame *from, GstVideoFrame *to)
{
  GstVideoFrame pixels;
  if (!gst_video_frame_map(&pixels, &pixels_info_, pixels_.get(), GST_MAP_READWRITE))
    return; // system memory of its own: cannot be
  to_pixels_->convert(from, &pixels);
  if (GST_VIDEO_INFO_FORMAT(&pixels_info_) == GST_VIDEO_FORMAT_AYUV)
    convert_rows<std::uint8_t>(pixels, to);
  else
    convert_rows<std::uint16_t>(pixels, to);
  gst_video_frame_unmap(&pixels);
}

} // namespace gstdrm
