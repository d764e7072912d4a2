// SPDX-License-Identifier: LGPL-2.1-or-later
#include "yuv.hpp"

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

// How values of `bits` are quantised.
struct Steps {
  double y_scale, y_offset, c_scale, c_offset;
};

Steps steps_of(YuvRange range, unsigned bits) noexcept
{
  const auto eighth = static_cast<double>(1U << (bits - 8)); // one step of 8 bits
  const auto most = static_cast<double>((1U << bits) - 1);
  return range == YuvRange::Limited ? Steps{219 * eighth, 16 * eighth, 224 * eighth, 128 * eighth}
                                    : Steps{most, 0, most, 128 * eighth};
}

YuvRow scaled(double red, double green, double blue, double scale, double offset) noexcept
{
  return {static_cast<float>(red * scale), static_cast<float>(green * scale),
          static_cast<float>(blue * scale), static_cast<float>(offset)};
}

} // namespace

YuvRows yuv_rows(YuvMatrix matrix, YuvRange range, SampleDepth depth) noexcept
{
  const LumaWeights luma = luma_of(matrix);
  const double green = 1 - luma.red - luma.blue;
  const auto [y_scale, y_offset, c_scale, c_offset] = steps_of(range, depth.bits);
  const double word = static_cast<double>(1U << (depth.word_bits - depth.bits)) /
                      static_cast<double>((1ULL << depth.word_bits) - 1);
  const double to_cb = c_scale * word / (2 * (1 - luma.blue));
  const double to_cr = c_scale * word / (2 * (1 - luma.red));
  return {scaled(luma.red, green, luma.blue, y_scale * word, y_offset * word),
          scaled(-luma.red, -green, 1 - luma.blue, to_cb, c_offset * word),
          scaled(1 - luma.red, -green, -luma.blue, to_cr, c_offset * word),
          depth.word_bits == depth.bits ? 0.0F : static_cast<float>(word)};
}

std::array<float, 3> chroma_weights(Siting siting, unsigned subsampling) noexcept
{
  if (subsampling < 2)
    return {0.0F, 1.0F, 0.0F};
  if (siting == Siting::Centred)
    return {0.0F, 0.5F, 0.5F};
  return {0.25F, 0.5F, 0.25F};
}

const YuvSamples *yuv_samples(std::uint32_t fourcc) noexcept
{
  const auto *found = std::find_if(kYuvSamples.begin(), kYuvSamples.end(),
                                   [=](const YuvSamples &known) { return known.fourcc == fourcc; });
  return found == kYuvSamples.end() ? nullptr : found;
}

RgbRows rgb_rows(const YuvColours &colours, const YuvSamples &samples) noexcept
{
  const auto [y_scale, y_offset, c_scale, c_offset] = steps_of(colours.range, samples.bits);
  const double word = (samples.bits > 8 ? 65535.0 : 255.0) /
                      static_cast<double>(1U << samples.shift); // the value of 1
  const auto &[red, blue] = colours.luma;
  const double green = 1 - red - blue;
  // what R, G and B have of the two differences
  const std::array<std::array<double, 2>, 3> shares{
      {{0, 2 * (1 - red)},
       {-2 * blue * (1 - blue) / green, -2 * red * (1 - red) / green},
       {2 * (1 - blue), 0}}};
  RgbRows made;
  made.luma[samples.y] = static_cast<float>(word / y_scale);
  for (std::size_t i = 0; i < shares.size(); i++) {
    const auto &[cb, cr] = shares[i];
    made.rows[i][samples.cb] = static_cast<float>(cb * word / c_scale);
    made.rows[i][samples.cr] = static_cast<float>(cr * word / c_scale);
    made.offset[i] = static_cast<float>(-y_offset / y_scale - (cb + cr) * c_offset / c_scale);
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
