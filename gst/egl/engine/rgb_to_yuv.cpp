// SPDX-License-Identifier: LGPL-2.1-or-later
#include "rgb_to_yuv.hpp"

namespace gstdrm::egl {
namespace {

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
  const auto eighth = static_cast<double>(1U << (depth.bits - 8)); // one step of 8 bits
  const auto most = static_cast<double>((1U << depth.bits) - 1);
  const bool limited = range == YuvRange::Limited;
  const double y_scale = limited ? 219 * eighth : most;
  const double y_offset = limited ? 16 * eighth : 0;
  const double c_scale = limited ? 224 * eighth : most;
  const double c_offset = 128 * eighth;
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

} // namespace gstdrm::egl
