// SPDX-License-Identifier: LGPL-2.1-or-later
// The numbers of a conversion from Y'CbCr of more than 8 bits to R'G'B', as a shader needs them.
// Any thread.
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

// How the planes of a fourcc hold samples of words of 16 bits, each plane an image of R16 or GR1616
// (drm_fourcc.h).
struct DeepFormat {
  std::uint32_t fourcc = 0;
  unsigned bits = 16;
  unsigned shift = 0;     // unused bits below the value
  bool is_planar = false; // Cb and Cr in a plane each
  bool cr_first = false;
};

// nullptr: none of these.
const DeepFormat *deep_format(std::uint32_t fourcc) noexcept;

// R'G'B' = rows[i] · (Y, Cb, Cr) + offset[i], where R'G'B' and the samples are 0 to 1, and 1 is a
// word with all bits set.
struct RgbRows {
  std::array<std::array<float, 3>, 3> rows{};
  std::array<float, 3> offset{};
};

// ITU-R BT.601-7, BT.709-6 and BT.2020-2: the luma coefficients and the quantisation; full range as
// in H.273.
RgbRows rgb_rows(const YuvColours &colours, const DeepFormat &format) noexcept;

// Where in the plane, in samples, the chroma of the pixel 0 lies, less the pixel's own centre
// divided by `subsampling`.
float chroma_shift(Siting siting, unsigned subsampling) noexcept;

} // namespace gstdrm::egl
