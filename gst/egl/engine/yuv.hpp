// SPDX-License-Identifier: LGPL-2.1-or-later
// The numbers of the conversions between R'G'B' and Y'CbCr, as a shader needs them. ITU-R BT.601-7,
// BT.709-6 and BT.2020-2: the luma coefficients and the quantisation; full range as in H.273. Any
// thread.
#pragma once

#include <array>
#include <cstdint>

#include <gst/drm/core/luma_weights.hpp>

namespace gstdrm::egl {

using YuvMatrix = LumaMatrix;
enum class YuvRange { Limited, Full };
// Where a chroma sample lies among the pixels that it stands for, in one direction.
enum class Siting { Cosited, Centred };

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

// --- to Y'CbCr -----------------------------------------------------------------------------------

// The samples of a plane as they are stored: `bits` of the value in the upper bits of a word.
struct SampleDepth {
  unsigned bits = 8;
  unsigned word_bits = 8; // P010: 10 in 16
};

struct YuvConversion {
  YuvMatrix matrix = YuvMatrix::Bt709;
  YuvRange range = YuvRange::Limited;
  Siting horizontal = Siting::Cosited;
  Siting vertical = Siting::Centred;
};

// sample = factors[0..2] · R'G'B' + factors[3], where R'G'B' and the sample are 0 to 1, and 1 is a
// word with all bits set.
using YuvRow = std::array<float, 4>;

struct YuvRows {
  YuvRow y{};
  YuvRow cb{};
  YuvRow cr{};
  // What one step of the value is worth in the plane; 0 where a word has no more bits than a value.
  float step = 0;
};

YuvRows yuv_rows(YuvMatrix matrix, YuvRange range, SampleDepth depth) noexcept;

// How much the pixels at -1, 0 and +1 count for the chroma sample that stands for the pixels 0 and
// 1 (`subsampling` 2), or for pixel 0 (1).
std::array<float, 3> chroma_weights(Siting siting, unsigned subsampling) noexcept;

// --- to R'G'B' -----------------------------------------------------------------------------------

// R'G'B' = luma · (first texture) + rows[i] · (chroma) + offset[i], where R'G'B' and the channels
// are 0 to 1, and 1 is a word with all bits set.
struct RgbRows {
  std::array<float, 4> luma{};
  std::array<std::array<float, 4>, 3> rows{};
  std::array<float, 3> offset{};
};

RgbRows rgb_rows(const YuvColours &colours, const YuvSamples &samples) noexcept;

// Where in the plane, in samples, the chroma of the pixel 0 lies, less the pixel's own centre
// divided by `subsampling`.
float chroma_shift(Siting siting, unsigned subsampling) noexcept;

} // namespace gstdrm::egl
