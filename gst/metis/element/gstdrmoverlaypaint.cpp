// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrmoverlaypaint.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

namespace gstdrm {

namespace {

using metis::Area;
using metis::Argb;

// The bytes of a colour in the components of a format.
class Colours {
public:
  explicit Colours(const GstVideoInfo &info) : is_rgb_(GST_VIDEO_INFO_IS_RGB(&info))
  {
    if (!gst_video_color_matrix_get_Kr_Kb(info.colorimetry.matrix, &red_, &blue_))
      gst_video_color_matrix_get_Kr_Kb(GST_VIDEO_COLOR_MATRIX_BT601, &red_, &blue_);
    gst_video_color_range_offsets(info.colorimetry.range, info.finfo, offsets_.data(),
                                  scales_.data());
  }

  // A label has two colours, so the last two are kept.
  [[nodiscard]] guint8 byte_of(Argb colour, guint component)
  {
    if (last_[0].colour != colour) {
      std::swap(last_[0], last_[1]);
      if (last_[0].colour != colour)
        last_[0] = {colour, is_rgb_ ? rgb_of(colour) : yuv_of(colour)};
    }
    return last_[0].bytes[component];
  }

private:
  using Bytes = std::array<guint8, GST_VIDEO_MAX_COMPONENTS>; // R, G, B, A or Y, U, V, A
  struct Converted {
    Argb colour = 0; // transparent: none
    Bytes bytes{};
  };

  static Bytes rgb_of(Argb colour)
  {
    return {static_cast<guint8>(colour >> 16), static_cast<guint8>(colour >> 8),
            static_cast<guint8>(colour), 255};
  }
  [[nodiscard]] Bytes yuv_of(Argb colour) const
  {
    const Bytes rgb = rgb_of(colour);
    const double r = rgb[0] / 255.0, b = rgb[2] / 255.0;
    const double y = red_ * r + (1 - red_ - blue_) * (rgb[1] / 255.0) + blue_ * b;
    const auto byte = [this](std::size_t component, double value) {
      const double scaled = offsets_[component] + scales_[component] * value;
      return static_cast<guint8>(std::lround(std::clamp(scaled, 0.0, 255.0)));
    };
    return {byte(0, y), byte(1, (b - y) / (2 * (1 - blue_))), byte(2, (r - y) / (2 * (1 - red_))),
            255};
  }

  const bool is_rgb_;
  gdouble red_ = 0, blue_ = 0; // of luma
  std::array<gint, GST_VIDEO_MAX_COMPONENTS> offsets_{}, scales_{};
  std::array<Converted, 2> last_;
};

// One component of the visible part of a patch.
void paint_component(GstVideoFrame &frame, guint component, const Patch &patch, const Area &visible,
                     Colours &colours)
{
  const GstVideoFormatInfo *format = frame.info.finfo;
  const auto across = GST_VIDEO_FORMAT_INFO_W_SUB(format, component);
  const auto down = GST_VIDEO_FORMAT_INFO_H_SUB(format, component);
  const gint step = GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, component);
  const gint first = visible.x >> across, last = (visible.x + visible.width - 1) >> across;
  const gint last_row = (visible.y + visible.height - 1) >> down;
  for (gint row = visible.y >> down; row <= last_row; row++) {
    guint8 *sample = static_cast<guint8 *>(GST_VIDEO_FRAME_COMP_DATA(&frame, component)) +
                     static_cast<gssize>(row) * GST_VIDEO_FRAME_COMP_STRIDE(&frame, component) +
                     static_cast<gssize>(first) * step;
    if (patch.pixels.empty()) {
      const guint8 byte = colours.byte_of(patch.colour, component);
      if (step == 1) {
        std::memset(sample, byte, static_cast<std::size_t>(last - first + 1));
        continue;
      }
      for (gint i = first; i <= last; i++, sample += step)
        *sample = byte;
      continue;
    }
    const gint y = std::max(row << down, visible.y) - patch.area.y;
    const Argb *pixels = patch.pixels.data() + static_cast<gssize>(y) * patch.area.width;
    for (gint i = first; i <= last; i++, sample += step)
      *sample = colours.byte_of(pixels[std::max(i << across, visible.x) - patch.area.x], component);
  }
}

} // namespace

bool is_paintable(const GstVideoInfo &info)
{
  const GstVideoFormatInfo *format = info.finfo;
  constexpr auto kOther = static_cast<GstVideoFormatFlags>(
      GST_VIDEO_FORMAT_FLAG_COMPLEX | GST_VIDEO_FORMAT_FLAG_PALETTE | GST_VIDEO_FORMAT_FLAG_TILED);
  if (GST_VIDEO_FORMAT_INFO_N_COMPONENTS(format) == 0 ||
      (GST_VIDEO_FORMAT_INFO_FLAGS(format) & kOther) != 0)
    return false;
  for (guint i = 0; i < GST_VIDEO_FORMAT_INFO_N_COMPONENTS(format); i++)
    if (GST_VIDEO_FORMAT_INFO_DEPTH(format, i) != 8 ||
        GST_VIDEO_FORMAT_INFO_SHIFT(format, i) != 0 || GST_VIDEO_FORMAT_INFO_PSTRIDE(format, i) < 1)
      return false;
  return true;
}

void paint(GstVideoFrame &frame, const std::vector<Patch> &patches)
{
  Colours colours(frame.info);
  for (const Patch &patch : patches) {
    const Area visible =
        metis::clipped(patch.area, GST_VIDEO_FRAME_WIDTH(&frame), GST_VIDEO_FRAME_HEIGHT(&frame));
    if (visible.width == 0 || visible.height == 0)
      continue;
    for (guint i = 0; i < GST_VIDEO_FRAME_N_COMPONENTS(&frame); i++)
      paint_component(frame, i, patch, visible, colours);
  }
}

} // namespace gstdrm
