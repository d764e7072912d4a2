// SPDX-License-Identifier: LGPL-2.1-or-later
// The colour matrices of video. Header only.
#pragma once

namespace gstdrm {

// The part of red and of blue in luma; green has the rest of 1.
struct LumaWeights {
  double red;
  double blue;
};

// Rec. ITU-R BT.601-7, 2.5.1
inline constexpr LumaWeights kBt601Luma{0.299, 0.114};
// Rec. ITU-R BT.709-6, 3.2
inline constexpr LumaWeights kBt709Luma{0.2126, 0.0722};
// Rec. ITU-R BT.2020-2, table 4, non-constant luminance
inline constexpr LumaWeights kBt2020Luma{0.2627, 0.0593};

// SMPTE 240M, 1.1
inline constexpr LumaWeights kSmpte240mLuma{0.212, 0.087};
// FCC, 47 CFR 73.682
inline constexpr LumaWeights kFccLuma{0.30, 0.11};

// The matrices of Y'CbCr with non-constant luminance.
enum class LumaMatrix { Bt601, Bt709, Bt2020, Smpte240m, Fcc };

constexpr LumaWeights luma_of(LumaMatrix matrix) noexcept
{
  switch (matrix) {
  case LumaMatrix::Bt601:
    return kBt601Luma;
  case LumaMatrix::Bt2020:
    return kBt2020Luma;
  case LumaMatrix::Smpte240m:
    return kSmpte240mLuma;
  case LumaMatrix::Fcc:
    return kFccLuma;
  case LumaMatrix::Bt709:
    break;
  }
  return kBt709Luma;
}

} // namespace gstdrm
