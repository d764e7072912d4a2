// SPDX-License-Identifier: LGPL-2.1-or-later
// The loops over pixels, one row at a time (preprocess.hpp, steps 2 to 4): compiled once for the
// architecture's baseline and, on x86-64, once more for AVX2; both give the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gstdrm::metis {

// Factors in 1/2^13 (preprocess.hpp, step 3), and the black level that is subtracted from Y first.
struct ColourFactors {
  std::int16_t black = 0; // in 1/128 of a level
  std::int16_t ky = 0, krv = 0, kgu = 0, kgv = 0, kbu = 0;
};

// q = channel * whole + base + (channel * slope + fraction) / 2^16, limited to the range of int8 or
// uint8. The numbers have 16 bits, because a vector holds twice as many of these as of 32 bits.
// apply() has internal linkage for rows.cpp.
struct AffineMap {
  std::int16_t whole = 0;
  std::int16_t base = 0;
  std::uint16_t slope = 0;
  std::uint16_t fraction = 0;
  bool is_signed = false;
};

static inline constexpr std::uint8_t apply(const AffineMap &map, std::uint8_t channel)
{
  const auto carried =
      static_cast<std::int32_t>((std::uint32_t{channel} * map.slope + map.fraction) >> 16);
  const std::int32_t q = channel * map.whole + map.base + carried;
  const std::int32_t least = map.is_signed ? -128 : 0;
  const std::int32_t low = q < least ? least : q;
  return static_cast<std::uint8_t>(low > least + 255 ? least + 255 : low);
}

// A sample in 1/128 of a level, and two neighbours as one gather instruction loads them.
using Blended = std::int16_t;
using Pair = std::uint32_t;

// A value between two samples, minus 128 levels, in 1/128 of a level: -16384 .. 16256.
using Centred = std::int16_t;

// The two samples of each pixel of a row, and their weights. Made by RowPicks.
struct PickTable {
  static constexpr std::size_t kBlock = 16;    // pixels in one vector
  static constexpr std::size_t kPerWindow = 4; // pixels
  static constexpr std::uint32_t kWindowBytes = 16;

  const std::uint32_t *first; // first byte of each sample, from the start of the row
  const std::uint32_t *second;
  const std::uint8_t *weights; // of first and second; their sum is 128
  // If the samples of every four pixels are within 16 bytes, as when a picture is scaled down by up
  // to 4: the start of these bytes, and vectors that pick the samples. Else null.
  const std::uint32_t *windows;
  const std::uint8_t *shuffles;
  std::size_t n; // a multiple of kBlock
};

// The two rows next to a row of the output, and the weight of the lower one.
struct CentredRows {
  const Centred *upper;
  const Centred *lower;
  int weight;
};

// Arrays do not overlap, except that the upper and the lower row may be the same.
struct RowLoops {
  const char *name;
  // out[i] = row[first[i]] * weight of first + row[second[i]] * weight of second - 128 * 128
  void (*pick)(const std::uint8_t *row, const PickTable &table, Centred *out);
  // The same for samples of two bytes, each of which goes to a row of its own.
  void (*pick_2)(const std::uint8_t *row, const PickTable &table, Centred *const out[2]);
  // out[i] = row[i * step], for steps of 2 and 4 bytes
  void (*unpack)(const std::uint8_t *row, std::size_t step, std::uint8_t *out, std::size_t n);
  // The same for words of 16 bits, little endian: the nearest to word / 4 and word / 256, up to 255
  void (*unpack_10)(const std::uint8_t *row, std::size_t step, std::uint8_t *out, std::size_t n);
  void (*unpack_16)(const std::uint8_t *row, std::size_t step, std::uint8_t *out, std::size_t n);
  // out[channel][i] = upper[i] * (128 - weight) + lower[i] * weight, for the first three channels
  // of n pixels of 3 or 4 bytes
  void (*blend_3)(const std::uint8_t *upper, const std::uint8_t *lower, int weight,
                  Blended *const out[3], std::size_t n);
  void (*blend_4)(const std::uint8_t *upper, const std::uint8_t *lower, int weight,
                  Blended *const out[3], std::size_t n);
  // out[i] = whole level between row[first[i]] and the next sample
  void (*lerp_to_level)(const Blended *row, const std::uint32_t *first, const std::int32_t *weights,
                        std::uint8_t *out, std::size_t n);
  // Y, Cb and Cr in; R, G and B of n pixels out
  void (*to_rgb)(const CentredRows &luma, const CentredRows chroma[2], const ColourFactors &factors,
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

// The fastest loops for this CPU.
const RowLoops &row_loops() noexcept;
// For tests: the loops for this CPU, the slowest first; nullptr beyond the last.
const RowLoops *row_loops_at(std::size_t index) noexcept;

} // namespace gstdrm::metis
