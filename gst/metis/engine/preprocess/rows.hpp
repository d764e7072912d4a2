// SPDX-License-Identifier: LGPL-2.1-or-later
// The loops over pixels, one row at a time (preprocess.hpp, steps 2 to 4): compiled once for the
// architecture's baseline and, on x86-64, once more for AVX2; both give the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gstdrm::metis {

// Factors of 2^13 (preprocess.hpp, step 3), and what is subtracted from Y before.
struct ColourFactors {
  std::int16_t black = 0; // in 1/128 of a level
  std::int16_t ky = 0, krv = 0, kgu = 0, kgv = 0, kbu = 0;
};

// q = (channel * slope + offset) / 2^kBits, limited to low .. high. apply() has internal linkage
// since rows.cpp needs it so.
struct AffineMap {
  static constexpr int kBits = 20;
  std::int32_t slope = 0;
  std::int32_t offset = 0;
  std::int32_t low = 0;
  std::int32_t high = 255;
};

static inline constexpr std::uint8_t apply(const AffineMap &map, std::int32_t channel)
{
  const std::int32_t q = (channel * map.slope + map.offset) >> AffineMap::kBits;
  const std::int32_t low = q < map.low ? map.low : q;
  return static_cast<std::uint8_t>(low > map.high ? map.high : low);
}

// Rows in which a sample has 1/128 of a level; two neighbours side by side, as one gather takes
// them.
using Blended = std::int16_t;
using Pair = std::uint32_t;

// Arrays do not overlap, except that a blended row's two sources may be one.
struct RowLoops {
  const char *name;
  // out[i] = upper[i] * (128 - weight) + lower[i] * weight
  void (*blend)(const std::uint8_t *upper, const std::uint8_t *lower, int weight, Blended *out,
                std::size_t n);
  // The same of interleaved samples, whose parts go to one row each: n Cb and Cr ...
  void (*blend_2)(const std::uint8_t *upper, const std::uint8_t *lower, int weight,
                  Blended *const out[2], std::size_t n);
  // ... and the first three channels of n pixels of 3 or 4 bytes.
  void (*blend_3)(const std::uint8_t *upper, const std::uint8_t *lower, int weight,
                  Blended *const out[3], std::size_t n);
  void (*blend_4)(const std::uint8_t *upper, const std::uint8_t *lower, int weight,
                  Blended *const out[3], std::size_t n);
  // between row[first[i]] and the sample after it, to 1/128 of a level ...
  void (*lerp)(const Blended *row, const std::uint32_t *first, const std::int32_t *weights,
               Blended *out, std::size_t n);
  // ... and to whole levels
  void (*lerp_to_level)(const Blended *row, const std::uint32_t *first, const std::int32_t *weights,
                        std::uint8_t *out, std::size_t n);
  // Y, Cb and Cr in; R, G and B out
  void (*to_rgb)(const Blended *const in[3], const ColourFactors &factors,
                 std::uint8_t *const out[3], std::size_t n);
  // out[i] = in[i] + offset, modulo 256; out[i] = apply(map, in[i])
  void (*shift)(const std::uint8_t *in, std::uint8_t offset, std::uint8_t *out, std::size_t n);
  void (*scale)(const std::uint8_t *in, const AffineMap &map, std::uint8_t *out, std::size_t n);
  // three rows to n pixels of 3 bytes, or of 4 with `fourth`
  void (*interleave_3)(const std::uint8_t *const in[3], std::uint8_t *out, std::size_t n);
  void (*interleave_4)(const std::uint8_t *const in[3], std::uint8_t fourth, std::uint8_t *out,
                       std::size_t n);
  // out[i] = (in[i] - mean) * scale
  void (*to_float)(const std::uint8_t *in, float mean, float scale, float *out, std::size_t n);
};

// The fastest that this CPU has.
const RowLoops &row_loops() noexcept;
// For tests: those that this CPU has, the slowest first. 0 beyond the last.
const RowLoops *row_loops_at(std::size_t index) noexcept;

} // namespace gstdrm::metis
