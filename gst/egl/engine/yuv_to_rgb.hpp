// SPDX-License-Identifier: LGPL-2.1-or-later
// The numbers of a conversion from Y'CbCr to R'G'B', as a shader needs them. Any thread.
#pragma once

#include <array>
#include <cstdint>

#include <gst/drm/core/luma_weights.hpp>

#include "rgb_to_yuv.hpp"

namespace gstdrm::egl {

// What the samples of a frame mean.
struct YuvColours {
  LumaWeights luma = kBt709Luma;
  YuvRange range = YuvRange::Limited;
  Siting horizontal = Siting::Cosited;
  Siting vertical = Siting::Centred;
};

// Where the samples of a fourcc are in the textures of Shape::Drawn (drm_fourcc.h).
struct YuvSamples {
  std::uint32_t fourcc = 0;
  unsigned bits = 8;  // of the value; a word has 16 where these are more than 8
  unsigned shift = 0; // unused bits below the value
  std::uint8_t y = 0; // the channel of the first texture
  // Channels of the second texture; of three planes 0 is the second and 1 is the third.
  std::uint8_t cb = 0;
  std::uint8_t cr = 1;
};

// nullptr: none that can be drawn.
const YuvSamples *yuv_samples(std::uint32_t fourcc) noexcept;

// R'G'B' = luma · (first texture) + rows[i] · (chroma) + offset[i], where R'G'B' and the channels
// are 0 to 1, and 1 is a word with all bits set.
struct RgbRows {
  std::array<float, 4> luma{};
  std::array<std::array<float, 4>, 3> rows{};
  std::array<float, 3> offset{};
};

// ITU-R BT.601-7, BT.709-6 and BT.2020-2: the luma coefficients and the quantisation; full range as
// in H.273.
RgbRows rgb_rows(const YuvColours &colours, const YuvSamples &samples) noexcept;

// Where in the plane, in samples, the chroma of the pixel 0 lies, less the pixel's own centre
// divided by `subsampling`.
float chroma_shift(Siting siting, unsigned subsampling) noexcept;

} // namespace gstdrm::egl
