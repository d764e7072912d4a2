// SPDX-License-Identifier: LGPL-2.1-or-later
#include "colour.hpp"

#include <cmath>

#include <gst/drm/core/luma_weights.hpp>

namespace gstdrm::metis {

namespace {

std::int16_t factor(double value) noexcept
{
  return static_cast<std::int16_t>(std::floor(value * (1 << 13) + 0.5));
}

} // namespace

ColourFactors colour_factors(ColorMatrix matrix, bool full_range) noexcept
{
  const auto [kr, kb] = luma_of(matrix);
  const double kg = 1 - kr - kb;
  const double luma = full_range ? 1 : 255.0 / 219;
  const double chroma = full_range ? 1 : 255.0 / 224;
  ColourFactors factors;
  factors.black = full_range ? 0 : 16 * 128;
  factors.ky = factor(luma);
  factors.krv = factor(2 * (1 - kr) * chroma);
  factors.kbu = factor(2 * (1 - kb) * chroma);
  factors.kgu = factor(2 * kb * (1 - kb) / kg * chroma);
  factors.kgv = factor(2 * kr * (1 - kr) / kg * chroma);
  return factors;
}

} // namespace gstdrm::metis
