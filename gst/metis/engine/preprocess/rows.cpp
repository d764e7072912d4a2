// SPDX-License-Identifier: LGPL-2.1-or-later
// Compiled once per instruction set, each time with another GSTDRM_ROWS. All functions have
// internal linkage, and no header with functions is included: of several copies of an inline
// function the linker keeps one, and a copy with AVX2 instructions must not run on other CPUs.
#include "rows.hpp"

#ifdef __AVX2__
#include <immintrin.h> // its functions are inlined wherever they are called
#endif

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
using std::uint16_t;
using std::uint32_t;
using std::uint8_t;

constexpr bool kLittleEndian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

Blended between_rows(uint8_t upper, uint8_t lower, int weight)
{
  return static_cast<Blended>(upper * (128 - weight) + lower * weight);
}

// (a * b + 2^14) / 2^15, in the form that compilers know as one instruction (pmulhrsw)
int16_t multiplied(int16_t a, int16_t b)
{
  return static_cast<int16_t>(((a * b >> 14) + 1) >> 1);
}

// Copies the samples one by one, so that compilers vectorise the calculation.
void pick_one_by_one(const uint8_t *__restrict row, const PickTable &table, Centred *__restrict out)
{
  constexpr size_t kChunk = 8 * PickTable::kBlock;
  uint8_t first[kChunk];
  uint8_t second[kChunk];
  for (size_t start = 0; start < table.n; start += kChunk) {
    const size_t n = table.n - start < kChunk ? table.n - start : kChunk;
    for (size_t i = 0; i < n; ++i) {
      first[i] = row[table.first[start + i]];
      second[i] = row[table.second[start + i]];
    }
    const uint8_t *weights = table.weights + 2 * start;
    for (size_t i = 0; i < n; ++i)
      out[start + i] =
          static_cast<Centred>(first[i] * weights[2 * i] + second[i] * weights[2 * i + 1] - 16384);
  }
}

#ifdef __AVX2__
__m256i two_windows(const uint8_t *row, uint32_t low, uint32_t high)
{
  return _mm256_loadu2_m128i(reinterpret_cast<const __m128i *>(row + high),
                             reinterpret_cast<const __m128i *>(row + low));
}

// One block of pixels at a time. pmaddubsw takes one signed factor, so 128 is subtracted from each
// sample. The second byte of a sample follows the first.
template <size_t parts>
void pick_by_shuffles(const uint8_t *row, const PickTable &table, Centred *const out[parts])
{
  const __m256i half = _mm256_set1_epi8(-128);
  const __m256i one = _mm256_set1_epi8(1);
  const auto *shuffles = reinterpret_cast<const __m256i *>(table.shuffles);
  const auto *weights = reinterpret_cast<const __m256i *>(table.weights);
  const uint32_t *windows = table.windows;
  for (size_t i = 0; i < table.n; i += PickTable::kBlock, windows += 4, shuffles += 2) {
    const __m256i even = two_windows(row, windows[0], windows[2]);
    const __m256i odd = two_windows(row, windows[1], windows[3]);
    __m256i from_even = _mm256_loadu_si256(shuffles);
    __m256i from_odd = _mm256_loadu_si256(shuffles + 1);
    const __m256i weight = _mm256_loadu_si256(weights++);
    for (size_t part = 0; part < parts; ++part) {
      const __m256i samples =
          _mm256_or_si256(_mm256_shuffle_epi8(even, from_even), _mm256_shuffle_epi8(odd, from_odd));
      const __m256i sums = _mm256_maddubs_epi16(weight, _mm256_xor_si256(samples, half));
      _mm256_storeu_si256(reinterpret_cast<__m256i *>(out[part] + i), sums);
      from_even = _mm256_add_epi8(from_even, one);
      from_odd = _mm256_add_epi8(from_odd, one);
    }
  }
}
#endif

void pick(const uint8_t *row, const PickTable &table, Centred *out)
{
#ifdef __AVX2__
  if (table.windows)
    return pick_by_shuffles<1>(row, table, &out);
#endif
  pick_one_by_one(row, table, out);
}

void pick_2(const uint8_t *row, const PickTable &table, Centred *const out[2])
{
#ifdef __AVX2__
  if (table.windows)
    return pick_by_shuffles<2>(row, table, out);
#endif
  pick_one_by_one(row, table, out[0]);
  pick_one_by_one(row + 1, table, out[1]);
}

// Compilers vectorise steps that they know.
template <size_t step>
void unpack_steps(const uint8_t *__restrict row, uint8_t *__restrict out, size_t n)
{
  for (size_t i = 0; i < n; ++i)
    out[i] = row[i * step];
}

void unpack(const uint8_t *row, size_t step, uint8_t *out, size_t n)
{
  step == 2 ? unpack_steps<2>(row, out, n) : unpack_steps<4>(row, out, n);
}

// The sum of a word and one half could need 17 bits: the half is added to the quotient instead.
template <size_t step, unsigned shift>
void unpack_word_steps(const uint8_t *__restrict row, uint8_t *__restrict out, size_t n)
{
  for (size_t i = 0; i < n; ++i) {
    uint16_t word = 0;
    __builtin_memcpy(&word, row + i * step, sizeof word);
    if (!kLittleEndian)
      word = __builtin_bswap16(word);
    const auto nearest = static_cast<uint16_t>((word >> shift) + (word >> (shift - 1) & 1));
    out[i] = static_cast<uint8_t>(nearest > 255 ? 255 : nearest);
  }
}

template <unsigned shift> void unpack_words(const uint8_t *row, size_t step, uint8_t *out, size_t n)
{
  step == 2 ? unpack_word_steps<2, shift>(row, out, n) : unpack_word_steps<4, shift>(row, out, n);
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

// No sample of a row is negative.
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

// An AVX2 gather loads eight pairs. Without it the pairs are copied one by one, so that compilers
// vectorise the calculation.
void lerp_to_level(const Blended *__restrict row, const uint32_t *__restrict first,
                   const int32_t *__restrict weights, uint8_t *__restrict out, size_t n)
{
#ifdef __AVX2__
  for (size_t i = 0; i < n; ++i)
    out[i] = between_levels(pair_at(row + first[i]), weights[i]);
#else
  constexpr size_t kChunk = 128;
  Pair pairs[kChunk];
  for (size_t start = 0; start < n; start += kChunk) {
    const size_t in_chunk = n - start < kChunk ? n - start : kChunk;
    for (size_t i = 0; i < in_chunk; ++i)
      pairs[i] = pair_at(row + first[start + i]);
    for (size_t i = 0; i < in_chunk; ++i)
      out[start + i] = between_levels(pairs[i], weights[start + i]);
  }
#endif
}

uint8_t level(int sum)
{
  const auto rounded = static_cast<int16_t>(static_cast<int16_t>(sum + 16) >> 5);
  const int16_t low = rounded < 0 ? int16_t{0} : rounded;
  return static_cast<uint8_t>(low > 255 ? int16_t{255} : low);
}

// The same as (upper * (128 - weight) + lower * weight + 64) / 128, with numbers of 16 bits.
// `weight` is in 1/2^15.
int16_t between_centred(Centred upper, Centred lower, int16_t weight)
{
  return static_cast<int16_t>(upper + multiplied(static_cast<int16_t>(lower - upper), weight));
}

// Compilers do not check nine rows for overlap at run time: they vectorise only with __restrict on
// the parameters of a function that is not inlined. Rows that are only read may overlap.
[[gnu::noinline]] void to_rgb_rows(const CentredRows &luma, const CentredRows &blue_difference,
                                   const CentredRows &red_difference, const ColourFactors &factors,
                                   uint8_t *__restrict red, uint8_t *__restrict green,
                                   uint8_t *__restrict blue, size_t n)
{
  const ColourFactors k = factors;
  const CentredRows y_rows = luma;
  const CentredRows u_rows = blue_difference;
  const CentredRows v_rows = red_difference;
  const auto y_weight = static_cast<int16_t>(y_rows.weight << 8);
  const auto u_weight = static_cast<int16_t>(u_rows.weight << 8);
  const auto v_weight = static_cast<int16_t>(v_rows.weight << 8);
  const auto above_black = static_cast<int16_t>(128 * 128 - k.black);
  for (size_t i = 0; i < n; ++i) {
    const int16_t centred = between_centred(y_rows.upper[i], y_rows.lower[i], y_weight);
    const int16_t y = multiplied(static_cast<int16_t>(centred + above_black), k.ky);
    const int16_t u = between_centred(u_rows.upper[i], u_rows.lower[i], u_weight);
    const int16_t v = between_centred(v_rows.upper[i], v_rows.lower[i], v_weight);
    red[i] = level(y + multiplied(v, k.krv));
    green[i] = level(y - multiplied(u, k.kgu) - multiplied(v, k.kgv));
    blue[i] = level(y + multiplied(u, k.kbu));
  }
}

void to_rgb(const CentredRows &luma, const CentredRows chroma[2], const ColourFactors &factors,
            uint8_t *const out[3], size_t n)
{
  to_rgb_rows(luma, chroma[0], chroma[1], factors, out[0], out[1], out[2], n);
}

void shift(const uint8_t *__restrict in, uint8_t offset, uint8_t *__restrict out, size_t n)
{
  for (size_t i = 0; i < n; ++i)
    out[i] = static_cast<uint8_t>(in[i] + offset);
}

#ifdef __AVX2__
// apply() on 16 channels. The sum has a carry if the low half of the product is larger than
// 0xffff - fraction.
class AffineVector {
public:
  explicit AffineVector(const AffineMap &map)
      : whole_(_mm256_set1_epi16(map.whole)), slope_(words(map.slope)),
        room_(words(0xffff - map.fraction)), base_(_mm256_set1_epi16(map.base))
  {
  }
  [[nodiscard]] __m256i operator()(__m256i channels) const
  {
    const __m256i low = _mm256_mullo_epi16(channels, slope_);
    const __m256i carry = _mm256_min_epu16(_mm256_subs_epu16(low, room_), _mm256_set1_epi16(1));
    const __m256i high = _mm256_add_epi16(_mm256_mulhi_epu16(channels, slope_), carry);
    const __m256i whole = _mm256_add_epi16(_mm256_mullo_epi16(channels, whole_), base_);
    return _mm256_add_epi16(high, whole);
  }

private:
  static __m256i words(int value) { return _mm256_set1_epi16(static_cast<int16_t>(value)); }

  __m256i whole_, slope_, room_, base_;
};

// 32 channels at a time; the pack instruction limits them. Returns the number of channels done.
template <bool is_signed>
size_t scale_by_32(const uint8_t *in, const AffineMap &map, uint8_t *out, size_t n)
{
  const AffineVector applied(map);
  const __m256i zero = _mm256_setzero_si256();
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m256i channels = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(in + i));
    const __m256i low = applied(_mm256_unpacklo_epi8(channels, zero));
    const __m256i high = applied(_mm256_unpackhi_epi8(channels, zero));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(out + i),
                        is_signed ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high));
  }
  return i;
}
#endif

void scale(const uint8_t *__restrict in, const AffineMap &map, uint8_t *__restrict out, size_t n)
{
  const AffineMap m = map;
  size_t i = 0;
#ifdef __AVX2__
  i = m.is_signed ? scale_by_32<true>(in, m, out, n) : scale_by_32<false>(in, m, out, n);
#endif
  for (; i < n; ++i)
    out[i] = apply(m, in[i]);
}

#ifdef __AVX2__
// Moves pixel i of a channel to byte (3 i + shift) % 16. Three consecutive vectors of the output
// have the pixels of one channel at three different remainders of k / 3.
__m256i spread(const uint8_t *channel, int shift)
{
  alignas(16) uint8_t from[16];
  for (int i = 0; i < 16; ++i)
    from[(3 * i + shift) % 16] = static_cast<uint8_t>(i);
  const __m128i shuffle = _mm_load_si128(reinterpret_cast<const __m128i *>(from));
  return _mm256_shuffle_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(channel)),
                             _mm256_broadcastsi128_si256(shuffle));
}

// A mask of the bytes k with k % 3 == remainder.
__m256i every_third(int remainder)
{
  alignas(16) uint8_t mask[16];
  for (int k = 0; k < 16; ++k)
    mask[k] = k % 3 == remainder ? 0xff : 0;
  return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i *>(mask)));
}

// 32 pixels at a time, 16 in each half of a vector. Returns the number of pixels done.
size_t interleave_by_32(const uint8_t *const in[3], uint8_t *out, size_t n)
{
  const __m256i third[3] = {every_third(0), every_third(1), every_third(2)};
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m256i a = spread(in[0] + i, 0);
    const __m256i b = spread(in[1] + i, 1);
    const __m256i c = spread(in[2] + i, 2);
    // vector j has byte 16 j + k, of channel (j + k) % 3
    const auto mix = [&](int j) {
      const __m256i with_b = _mm256_blendv_epi8(a, b, third[(4 - j) % 3]);
      return _mm256_blendv_epi8(with_b, c, third[(5 - j) % 3]);
    };
    const __m256i first = mix(0);
    const __m256i second = mix(1);
    const __m256i last = mix(2);
    auto *to = reinterpret_cast<__m256i *>(out + 3 * i);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(first, second, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(last, first, 0x30));
    _mm256_storeu_si256(to + 2, _mm256_permute2x128_si256(second, last, 0x31));
  }
  return i;
}
#endif

void interleave_3(const uint8_t *const in[3], uint8_t *__restrict out, size_t n)
{
  const uint8_t *__restrict first = in[0];
  const uint8_t *__restrict second = in[1];
  const uint8_t *__restrict third = in[2];
  size_t i = 0;
#ifdef __AVX2__
  i = interleave_by_32(in, out, n);
#endif
  for (; i < n; ++i) {
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
    pick,
    pick_2,
    unpack,
    unpack_words<2>,
    unpack_words<8>,
    blend_pixels<3>,
    blend_pixels<4>,
    lerp_to_level,
    to_rgb,
    shift,
    scale,
    interleave_3,
    interleave_4,
    to_float,
};

} // namespace gstdrm::metis
