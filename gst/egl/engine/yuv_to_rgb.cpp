// SPDX-License-Identifier: LGPL-2.1-or-later
#include "yuv_to_rgb.hpp"

#include <algorithm>
#include <cstddef>

#include <drm_fourcc.h>

#include <gst/drm/core/drm_facts.hpp>

namespace gstdrm::egl {
namespace {

// None of them goes through GstGLColorConvert: that of GStreamer 1.22 ignores chroma-site, converts
// full range as BT.601 in narrow range, and does not interpolate the chroma of YUY2. It is off by
// up to 19, 9 and 32 of 255.
constexpr std::array<YuvSamples, 35> kYuvSamples{{
    {DRM_FORMAT_NV12},
    {DRM_FORMAT_NV16},
    {DRM_FORMAT_NV24},
    {.fourcc = DRM_FORMAT_NV21, .cb = 1, .cr = 0},
    {.fourcc = DRM_FORMAT_NV61, .cb = 1, .cr = 0},
    {.fourcc = DRM_FORMAT_NV42, .cb = 1, .cr = 0},
    {DRM_FORMAT_YUV410},
    {DRM_FORMAT_YUV411},
    {DRM_FORMAT_YUV420},
    {DRM_FORMAT_YUV422},
    {DRM_FORMAT_YUV444},
    {.fourcc = DRM_FORMAT_YVU410, .cb = 1, .cr = 0},
    {.fourcc = DRM_FORMAT_YVU411, .cb = 1, .cr = 0},
    {.fourcc = DRM_FORMAT_YVU420, .cb = 1, .cr = 0},
    {.fourcc = DRM_FORMAT_YVU422, .cb = 1, .cr = 0},
    {.fourcc = DRM_FORMAT_YVU444, .cb = 1, .cr = 0},
    {.fourcc = DRM_FORMAT_YUYV, .y = 0, .cb = 1, .cr = 3},
    {.fourcc = DRM_FORMAT_YVYU, .y = 0, .cb = 3, .cr = 1},
    {.fourcc = DRM_FORMAT_UYVY, .y = 1, .cb = 0, .cr = 2},
    {.fourcc = DRM_FORMAT_VYUY, .y = 1, .cb = 2, .cr = 0},
    {DRM_FORMAT_P010, 10, 6},
    {DRM_FORMAT_P012, 12, 4},
    {DRM_FORMAT_P016, 16, 0},
    {DRM_FORMAT_P210, 10, 6},
    {DRM_FORMAT_Q410, 10, 6},
    {.fourcc = DRM_FORMAT_Q401, .bits = 10, .shift = 6, .cb = 1, .cr = 0},
    {kFourccS010, 10},
    {kFourccS210, 10},
    {kFourccS410, 10},
    {kFourccS012, 12},
    {kFourccS212, 12},
    {kFourccS412, 12},
    {kFourccS016, 16},
    {kFourccS216, 16},
    {kFourccS416, 16},
}};

} // namespace

const YuvSamples *yuv_samples(std::uint32_t fourcc) noexcept
{
  const auto *found = std::find_if(kYuvSamples.begin(), kYuvSamples.end(),
                                   [=](const YuvSamples &known) { return known.fourcc == fourcc; });
  return found == kYuvSamples.end() ? nullptr : found;
}

RgbRows rgb_rows(const YuvColours &colours, const YuvSamples &samples) noexcept
{
  const auto eighth = static_cast<double>(1U << (samples.bits - 8)); // one step of 8 bits
  const auto most = static_cast<double>((1U << samples.bits) - 1);
  const bool limited = colours.range == YuvRange::Limited;
  const double word = (samples.bits > 8 ? 65535.0 : 255.0) /
                      static_cast<double>(1U << samples.shift); // the value of 1
  const double y_factor = word / (limited ? 219 * eighth : most);
  const double y_added = limited ? -16.0 / 219 : 0;
  const double c_factor = word / (limited ? 224 * eighth : most);
  const double c_added = -128 * eighth / (limited ? 224 * eighth : most);
  const auto &[red, blue] = colours.luma;
  const double green = 1 - red - blue;
  // what R, G and B have of the two differences
  const std::array<std::array<double, 2>, 3> shares{
      {{0, 2 * (1 - red)},
       {-2 * blue * (1 - blue) / green, -2 * red * (1 - red) / green},
       {2 * (1 - blue), 0}}};
  RgbRows made;
  made.luma[samples.y] = static_cast<float>(y_factor);
  for (std::size_t i = 0; i < shares.size(); i++) {
    const auto &[cb, cr] = shares[i];
    made.rows[i][samples.cb] = static_cast<float>(cb * c_factor);
    made.rows[i][samples.cr] = static_cast<float>(cr * c_factor);
    made.offset[i] = static_cast<float>(y_added + (cb + cr) * c_added);
  }
  return made;
}

// A sample that is cosited with pixel 0 has its centre at 0.5 of the plane, where that pixel's own
// is at 0.25.
float chroma_shift(Siting siting, unsigned subsampling) noexcept
{
  if (siting == Siting::Centred || subsampling < 2)
    return 0;
  return 0.5F - 0.5F / static_cast<float>(subsampling);
}

} // namespace gstdrm::egl
