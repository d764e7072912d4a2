// SPDX-License-Identifier: LGPL-2.1-or-later
// Compiled once per instruction set, each time with another GSTDRM_ROWS. Everything here has
// internal linkage, and no header with functions is included: the linker would keep one of several
// copies of an inline function, and one with AVX2 instructions must not run elsewhere.
#include "rows.hpp"

#ifndef GSTDRM_ROWS
#define GSTDRM_ROWS baseline_row_loops
#define GSTDRM_ROWS_NAME "baseline"
#endif

namespace gstdrm::metis {

extern const RowLoops GSTDRM_ROWS;

namespace {

using std::int16_t;
using std::int32_t;
using std::size_t;
using std::uint32_t;
using std::uint8_t;

constexpr bool kLittleEndian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

Blended between_rows(uint8_t upper, uint8_t lower, int weight)
{
  return static_cast<Blended>(upper * (128 - weight) + lower * weight);
}

void blend(const uint8_t *__restrict upper, const uint8_t *__restrict lower, int weight,
           Blended *__restrict out, size_t n)
{
  for (size_t i = 0; i < n; ++i)
    out[i] = between_rows(upper[i], lower[i], weight);
}

void blend_2(const uint8_t *__restrict upper, const uint8_t *__restrict lower, int weight,
             Blended *const rows[2], size_t n)
{
  Blended *__restrict first = rows[0];
  Blended *__restrict second = rows[1];
  for (size_t i = 0; i < n; ++i) {
    first[i] = between_rows(upper[2 * i], lower[2 * i], weight);
    second[i] = between_rows(upper[2 * i + 1], lower[2 * i + 1], weight);
  }
}

template <size_t bytes>
[[gnu::noinline]] void blend_channels(const uint8_t *__restrict upper,
                                      const uint8_t *__restrict lower, int weight,
                                      Blended *__restrict first, Blended *__restrict second,
                                      Blended *__restrict third, size_t n)
{
  for (size_t i = 0; i < n; ++i) {
    first[i] = between_rows(upper[bytes * i], lower[bytes * i], weight);
    second[i] = between_rows(upper[bytes * i + 1], lower[bytes * i + 1], weight);
    third[i] = between_rows(upper[bytes * i + 2], lower[bytes * i + 2], weight);
  }
}

template <size_t bytes>
void blend_pixels(const uint8_t *upper, const uint8_t *lower, int weight, Blended *const rows[3],
                  size_t n)
{
  blend_channels<bytes>(upper, lower, weight, rows[0], rows[1], rows[2], n);
}

// All samples of a row are 0 or more, so both halves are.
int32_t first_of(Pair pair)
{
  return static_cast<int32_t>(kLittleEndian ? pair & 0xffff : pair >> 16);
}

int32_t second_of(Pair pair)
{
  return static_cast<int32_t>(kLittleEndian ? pair >> 16 : pair & 0xffff);
}

int32_t between(Pair pair, int32_t weight)
{
  return first_of(pair) * 128 + (second_of(pair) - first_of(pair)) * weight;
}

// (a * b + 2^14) / 2^15, in the form that compilers know as one instruction (pmulhrsw)
int16_t multiplied(int16_t a, int16_t b)
{
  return static_cast<int16_t>(((a * b >> 14) + 1) >> 1);
}

// The same as (between() + 64) / 128, with numbers of 16 bits.
Blended between_blended(Pair pair, int32_t weight)
{
  const auto first = static_cast<int16_t>(first_of(pair));
  const auto step = static_cast<int16_t>(second_of(pair) - first);
  return static_cast<Blended>(first + multiplied(step, static_cast<int16_t>(weight << 8)));
}

uint8_t between_levels(Pair pair, int32_t weight)
{
  return static_cast<uint8_t>((between(pair, weight) + (1 << 13)) >> 14);
}

Pair pair_at(const Blended *place)
{
  Pair pair = 0;
  __builtin_memcpy(&pair, place, sizeof pair);
  return pair;
}

// With AVX2 one instruction takes eight pairs from anywhere. Without it, pairs are taken one by one
// to where the calculation can be vectorised.
template <typename Out, Out (*between_pair)(Pair, int32_t)>
void lerp(const Blended *__restrict row, const uint32_t *__restrict first,
          const int32_t *__restrict weights, Out *__restrict out, size_t n)
{
#ifdef __AVX2__
  for (size_t i = 0; i < n; ++i)
    out[i] = between_pair(pair_at(row + first[i]), weights[i]);
#else
  constexpr size_t kChunk = 128;
  Pair pairs[kChunk];
  for (size_t start = 0; start < n; start += kChunk) {
    const size_t in_chunk = n - start < kChunk ? n - start : kChunk;
    for (size_t i = 0; i < in_chunk; ++i)
      pairs[i] = pair_at(row + first[start + i]);
    for (size_t i = 0; i < in_chunk; ++i)
      out[start + i] = between_pair(pairs[i], weights[start + i]);
  }
#endif
}

uint8_t level(int sum)
{
  const auto rounded = static_cast<int16_t>(static_cast<int16_t>(sum + 16) >> 5);
  const int16_t low = rounded < 0 ? int16_t{0} : rounded;
  return static_cast<uint8_t>(low > 255 ? int16_t{255} : low);
}

// Six rows: too many for a check at run time, so that compilers need __restrict on parameters of a
// function that they do not inline.
[[gnu::noinline]] void to_rgb_rows(const Blended *__restrict luma,
                                   const Blended *__restrict blue_difference,
                                   const Blended *__restrict red_difference,
                                   const ColourFactors &factors, uint8_t *__restrict red,
                                   uint8_t *__restrict green, uint8_t *__restrict blue, size_t n)
{
  const ColourFactors k = factors;
  for (size_t i = 0; i < n; ++i) {
    const int16_t y = multiplied(static_cast<int16_t>(luma[i] - k.black), k.ky);
    const auto u = static_cast<int16_t>(blue_difference[i] - 128 * 128);
    const auto v = static_cast<int16_t>(red_difference[i] - 128 * 128);
    red[i] = level(y + multiplied(v, k.krv));
    green[i] = level(y - multiplied(u, k.kgu) - multiplied(v, k.kgv));
    blue[i] = level(y + multiplied(u, k.kbu));
  }
}

void to_rgb(const Blended *const in[3], const ColourFactors &factors, uint8_t *const out[3],
            size_t n)
{
  to_rgb_rows(in[0], in[1], in[2], factors, out[0], out[1], out[2], n);
}

void shift(const uint8_t *__restrict in, uint8_t offset, uint8_t *__restrict out, size_t n)
{
  for (size_t i = 0; i < n; ++i)
    out[i] = static_cast<uint8_t>(in[i] + offset);
}

void scale(const uint8_t *__restrict in, const AffineMap &map, uint8_t *__restrict out, size_t n)
{
  const AffineMap m = map;
  for (size_t i = 0; i < n; ++i)
    out[i] = apply(m, in[i]);
}

void interleave_3(const uint8_t *const in[3], uint8_t *__restrict out, size_t n)
{
  const uint8_t *__restrict first = in[0];
  const uint8_t *__restrict second = in[1];
  const uint8_t *__restrict third = in[2];
  for (size_t i = 0; i < n; ++i) {
    out[3 * i] = first[i];
    out[3 * i + 1] = second[i];
    out[3 * i + 2] = third[i];
  }
}

[[gnu::noinline]] void interleave_rows_4(const uint8_t *__restrict first,
                                         const uint8_t *__restrict second,
                                         const uint8_t *__restrict third, uint32_t fourth,
                                         uint8_t *__restrict out, size_t n)
{
  for (size_t i = 0; i < n; ++i) {
    const uint32_t little =
        first[i] | uint32_t{second[i]} << 8 | uint32_t{third[i]} << 16 | fourth << 24;
    const uint32_t pixel = kLittleEndian ? little : __builtin_bswap32(little);
    __builtin_memcpy(out + 4 * i, &pixel, sizeof pixel);
  }
}

void interleave_4(const uint8_t *const in[3], uint8_t fourth, uint8_t *out, size_t n)
{
  interleave_rows_4(in[0], in[1], in[2], fourth, out, n);
}

void to_float(const uint8_t *__restrict in, float mean, float scale_by, float *__restrict out,
              size_t n)
{
  for (size_t i = 0; i < n; ++i)
    out[i] = (static_cast<float>(in[i]) - mean) * scale_by;
}

} // namespace

constinit const RowLoops GSTDRM_ROWS = {
    GSTDRM_ROWS_NAME,
    blend,
    blend_2,
    blend_pixels<3>,
    blend_pixels<4>,
    lerp<Blended, between_blended>,
    lerp<uint8_t, between_levels>,
    to_rgb,
    shift,
    scale,
    interleave_3,
    interleave_4,
    to_float,
};

} // namespace gstdrm::metis
