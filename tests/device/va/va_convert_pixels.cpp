// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_convert_pixels.hpp"

#include <algorithm>
#include <cmath>

#include <drm_fourcc.h>

namespace gstdrm::test {
namespace {

std::uint8_t byte_at(const Frame &frame, std::size_t plane, std::uint32_t x, std::uint32_t y)
{
  return frame.planes[plane][static_cast<std::size_t>(frame.row_bytes[plane]) * y + x];
}

std::array<double, 3> from_yuv(const Frame &frame, double y, double u, double v)
{
  const GstVideoColorimetry &colours = frame.info.vinfo.colorimetry;
  gdouble kr = 0;
  gdouble kb = 0;
  fail_unless(gst_video_color_matrix_get_Kr_Kb(colours.matrix, &kr, &kb));
  const bool full = colours.range == GST_VIDEO_COLOR_RANGE_0_255;
  const double luma = full ? y : (y - 16) * 255 / 219;
  const double cb = full ? u - 128 : (u - 128) * 255 / 224;
  const double cr = full ? v - 128 : (v - 128) * 255 / 224;
  const double r = luma + 2 * (1 - kr) * cr;
  const double b = luma + 2 * (1 - kb) * cb;
  const auto clamped = [](double value) { return std::clamp(value, 0.0, 255.0); };
  return {clamped(r), clamped((luma - kr * r - kb * b) / (1 - kr - kb)), clamped(b)};
}

struct Point {
  std::uint32_t x;
  std::uint32_t y;
};

// The pixel of `from` at a place of the turned and scaled picture.
Point origin(const Point &at, const Point &area, const Point &part, const Expected &how)
{
  const bool swaps = how.quarter_turns % 2 == 1;
  const std::uint32_t width = swaps ? part.y : part.x; // of the turned picture
  const std::uint32_t height = swaps ? part.x : part.y;
  std::uint32_t x = at.x * width / area.x;
  std::uint32_t y = at.y * height / area.y;
  if (how.mirror_x)
    x = width - 1 - x;
  if (how.mirror_y)
    y = height - 1 - y;
  switch (how.quarter_turns) {
  case 1: // the left edge comes to the top
    return {y, part.y - 1 - x};
  case 2:
    return {part.x - 1 - x, part.y - 1 - y};
  case 3:
    return {part.x - 1 - y, x};
  default:
    return {x, y};
  }
}

double distance(const std::array<double, 3> &a, const std::array<double, 3> &b)
{
  return std::max({std::fabs(a[0] - b[0]), std::fabs(a[1] - b[1]), std::fabs(a[2] - b[2])});
}

} // namespace

std::array<double, 3> rgb_at(const Frame &frame, std::uint32_t x, std::uint32_t y)
{
  const auto rgb = [&](std::uint32_t r, std::uint32_t g, std::uint32_t b) {
    return std::array<double, 3>{static_cast<double>(byte_at(frame, 0, x * 4 + r, y)),
                                 static_cast<double>(byte_at(frame, 0, x * 4 + g, y)),
                                 static_cast<double>(byte_at(frame, 0, x * 4 + b, y))};
  };
  switch (frame.info.drm_fourcc) {
  case DRM_FORMAT_XRGB8888:
  case DRM_FORMAT_ARGB8888:
    return rgb(2, 1, 0);
  case DRM_FORMAT_XBGR8888:
  case DRM_FORMAT_ABGR8888:
    return rgb(0, 1, 2);
  case DRM_FORMAT_NV12:
    return from_yuv(frame, byte_at(frame, 0, x, y), byte_at(frame, 1, x / 2 * 2, y / 2),
                    byte_at(frame, 1, x / 2 * 2 + 1, y / 2));
  case DRM_FORMAT_P010: // the upper byte of 16 bits
    return from_yuv(frame, byte_at(frame, 0, x * 2 + 1, y), byte_at(frame, 1, x / 2 * 4 + 1, y / 2),
                    byte_at(frame, 1, x / 2 * 4 + 3, y / 2));
  case DRM_FORMAT_YUYV:
    return from_yuv(frame, byte_at(frame, 0, x * 2, y), byte_at(frame, 0, x / 2 * 4 + 1, y),
                    byte_at(frame, 0, x / 2 * 4 + 3, y));
  case DRM_FORMAT_YUV420:
    return from_yuv(frame, byte_at(frame, 0, x, y), byte_at(frame, 1, x / 2, y / 2),
                    byte_at(frame, 2, x / 2, y / 2));
  default:
    ck_abort_msg("no reference for fourcc 0x%x", frame.info.drm_fourcc);
  }
  return {};
}

void compare_pixels(const std::string &name, const Frame &from, const Frame &got,
                    const Expected &expected, double tolerance)
{
  const Point area{expected.width ? expected.width : got.layout.width,
                   expected.height ? expected.height : got.layout.height};
  const Point part{expected.part_width ? expected.part_width : from.layout.width,
                   expected.part_height ? expected.part_height : from.layout.height};
  for (std::uint32_t y = 0; y < got.layout.height; y += 2) {
    for (std::uint32_t x = 0; x < got.layout.width; x += 2) {
      const auto have = rgb_at(got, x, y);
      std::array<double, 3> want{};
      const bool inside = x >= expected.x && x - expected.x < area.x && y >= expected.y &&
                          y - expected.y < area.y;
      if (inside) {
        const Point at = origin({x - expected.x, y - expected.y}, area, part, expected);
        want = rgb_at(from, expected.part_x + at.x, expected.part_y + at.y);
      }
      if (distance(have, want) > tolerance)
        ck_abort_msg("%s at %u,%u: got %.0f %.0f %.0f, expected %.0f %.0f %.0f", name.c_str(), x, y,
                     have[0], have[1], have[2], want[0], want[1], want[2]);
    }
  }
}

} // namespace gstdrm::test
