// SPDX-License-Identifier: LGPL-2.1-or-later
#include "yuv_to_rgb.hpp"

#include <algorithm>
#include <cstddef>

#include <drm_fourcc.h>

#include <gst/drm/core/drm_facts.hpp>

namespace gstdrm::egl {
namespace {

constexpr std::array<DeepFormat, 15> kDeepFormats{{
    {DRM_FORMAT_P010, 10, 6},
    {DRM_FORMAT_P012, 12, 4},
    {DRM_FORMAT_P016, 16, 0},
    {DRM_FORMAT_P210, 10, 6},
    {DRM_FORMAT_Q410, 10, 6, true},
    {DRM_FORMAT_Q401, 10, 6, true, true},
    {kFourccS010, 10, 0, true},
    {kFourccS210, 10, 0, true},
    {kFourccS410, 10, 0, true},
    {kFourccS012, 12, 0, true},
    {kFourccS212, 12, 0, true},
    {kFourccS412, 12, 0, true},
    {kFourccS016, 16, 0, true},
    {kFourccS216, 16, 0, true},
    {kFourccS416, 16, 0, true},
}};

} // namespace

const DeepFormat *deep_format(std::uint32_t fourcc) noexcept
{
  const auto *found = std::find_if(kDeepFormats.begin(), kDeepFormats.end(),
                                   [=](const DeepFormat &known) { return known.fourcc == fourcc; });
  return found == kDeepFormats.end() ? nullptr : found;
}

RgbRows rgb_rows(const YuvColours &colours, const DeepFormat &format) noexcept
{
  const auto eighth = static_cast<double>(1U << (format.bits - 8)); // one step of 8 bits
  const auto most = static_cast<double>((1U << format.bits) - 1);
  const bool limited = colours.range == YuvRange::Limited;
  const double word = 65535.0 / static_cast<double>(1U << format.shift); // the value of 1
  const double y_factor = word / (limited ? 219 * eighth : most);
  const double y_added = limited ? -16.0 / 219 : 0;
  const double c_factor = word / (limited ? 224 * eighth : most);
  const double c_added = -128 * eighth / (limited ? 224 * eighth : most);
  const auto &[red, blue] = colours.luma;
  const double green = 1 - red - blue;
  // what R, G and B have of luma and of the two differences
  const std::array<std::array<double, 3>, 3> shares{
      {{1, 0, 2 * (1 - red)},
       {1, -2 * blue * (1 - blue) / green, -2 * red * (1 - red) / green},
       {1, 2 * (1 - blue), 0}}};
  RgbRows made;
  for (std::size_t i = 0; i < shares.size(); i++) {
    const auto &[y, cb, cr] = shares[i];
    made.rows[i] = {static_cast<float>(y * y_factor), static_cast<float>(cb * c_factor),
                    static_cast<float>(cr * c_factor)};
    made.offset[i] = static_cast<float>(y * y_added + (cb + cr) * c_added);
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
