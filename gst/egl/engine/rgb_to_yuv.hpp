// SPDX-License-Identifier: LGPL-2.1-or-later
// The numbers of a conversion from R'G'B' to Y'CbCr, as a shader needs them. Any thread.
#pragma once

#include <array>

#include <gst/drm/core/luma_weights.hpp>

namespace gstdrm::egl {

using YuvMatrix = LumaMatrix;
enum class YuvRange { Limited, Full };
// Where a chroma sample lies among the pixels that it stands for, in one direction.
enum class Siting { Cosited, Centred };

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

// ITU-R BT.601-7, BT.709-6 and BT.2020-2: the luma coefficients and the quantisation.
YuvRows yuv_rows(YuvMatrix matrix, YuvRange range, SampleDepth depth) noexcept;

// How much the pixels at -1, 0 and +1 count for the chroma sample that stands for the pixels 0 and
// 1 (`subsampling` 2), or for pixel 0 (1).
std::array<float, 3> chroma_weights(Siting siting, unsigned subsampling) noexcept;

} // namespace gstdrm::egl
