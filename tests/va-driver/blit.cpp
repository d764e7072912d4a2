// SPDX-License-Identifier: LGPL-2.1-or-later
#include "blit.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gstdrm::test::vadriver {
namespace {

constexpr double kFull = 65535.0;

std::uint16_t clamp16(double value)
{
  return static_cast<std::uint16_t>(std::lround(std::clamp(value, 0.0, kFull)));
}

// Kr and Kb of ITU-R BT.601, BT.709 and BT.2020.
struct Weights {
  double kr;
  double kb;
};
constexpr Weights weights(Matrix matrix)
{
  return matrix == Matrix::Bt709    ? Weights{0.2126, 0.0722}
         : matrix == Matrix::Bt2020 ? Weights{0.2627, 0.0593}
                                    : Weights{0.299, 0.114};
}

// In units of 8 bits: 16 to 235 and 16 to 240, or 0 to 255.
struct Scale {
  double black;
  double luma;
  double chroma;
};
constexpr Scale scale_of(const Colours &colours)
{
  return colours.full_range ? Scale{0, 255, 255} : Scale{16, 219, 224};
}

Pixel rgb_to_yuv(const Pixel &rgb, const Colours &colours)
{
  const auto [kr, kb] = weights(colours.matrix);
  const Scale scale = scale_of(colours);
  const double r = rgb[0] / kFull;
  const double g = rgb[1] / kFull;
  const double b = rgb[2] / kFull;
  const double y = kr * r + (1 - kr - kb) * g + kb * b;
  const double u = (b - y) / (2 * (1 - kb));
  const double v = (r - y) / (2 * (1 - kr));
  return {clamp16((scale.black + scale.luma * y) * 256), clamp16((128 + scale.chroma * u) * 256),
          clamp16((128 + scale.chroma * v) * 256), rgb[3]};
}

Pixel yuv_to_rgb(const Pixel &yuv, const Colours &colours)
{
  const auto [kr, kb] = weights(colours.matrix);
  const Scale scale = scale_of(colours);
  const double y = (yuv[0] / 256.0 - scale.black) / scale.luma;
  const double u = (yuv[1] / 256.0 - 128) / scale.chroma;
  const double v = (yuv[2] / 256.0 - 128) / scale.chroma;
  const double r = y + 2 * (1 - kr) * v;
  const double b = y + 2 * (1 - kb) * u;
  const double g = (y - kr * r - kb * b) / (1 - kr - kb);
  return {clamp16(r * kFull), clamp16(g * kFull), clamp16(b * kFull), yuv[3]};
}

std::uint16_t load16(const std::uint8_t *p)
{
  return static_cast<std::uint16_t>(p[0] | p[1] << 8);
}

void store16(std::uint8_t *p, std::uint16_t value)
{
  p[0] = static_cast<std::uint8_t>(value);
  p[1] = static_cast<std::uint8_t>(value >> 8);
}

// 8 bits to 16 and back: full range repeats its bits, limited range is shifted.
std::uint16_t widen(std::uint8_t value, Model model)
{
  return static_cast<std::uint16_t>(model == Model::Rgb ? value * 257 : value << 8);
}
std::uint8_t narrow(std::uint16_t value, Model model)
{
  if (model == Model::Rgb)
    return static_cast<std::uint8_t>((value + 128U - (value >> 8)) / 256);
  return static_cast<std::uint8_t>(std::min(255, (value + 128) >> 8));
}
// Rounded to 10 bits in the high bits.
std::uint16_t keep10(std::uint16_t value)
{
  return static_cast<std::uint16_t>(std::min(0xffc0, (value + 32) & ~63));
}

Pixel read_rgb10(const Surface &s, std::uint32_t x, std::uint32_t y)
{
  const auto *p = s.at(0, x * 4, y);
  const std::uint32_t word = load16(p) | static_cast<std::uint32_t>(load16(p + 2)) << 16;
  Pixel pixel{};
  for (unsigned c = 0; c < 3; ++c) {
    const auto ten = word >> (10 * s.format->order[c]) & 0x3ffU;
    pixel[c] = static_cast<std::uint16_t>(ten << 6 | ten >> 4);
  }
  pixel[3] = static_cast<std::uint16_t>(s.format->alpha ? (word >> 30) * 0x5555U : 0xffffU);
  return pixel;
}

void write_rgb10(const Surface &s, std::uint32_t x, std::uint32_t y, const Pixel &pixel)
{
  std::uint32_t word = (s.format->alpha ? pixel[3] >> 14 : 3U) << 30;
  for (unsigned c = 0; c < 3; ++c)
    word |= static_cast<std::uint32_t>(pixel[c] >> 6) << (10 * s.format->order[c]);
  auto *p = s.at(0, x * 4, y);
  store16(p, static_cast<std::uint16_t>(word));
  store16(p + 2, static_cast<std::uint16_t>(word >> 16));
}

std::uint16_t read_sample(const std::uint8_t *p, const PixelFormat &format)
{
  return format.depth > 8 ? load16(p) : widen(*p, format.model);
}

void write_sample(std::uint8_t *p, std::uint16_t value, const PixelFormat &format)
{
  if (format.depth > 8)
    store16(p, keep10(value));
  else
    *p = narrow(value, format.model);
}

} // namespace

Pixel read_pixel(const Surface &s, std::uint32_t x, std::uint32_t y)
{
  const auto &f = *s.format;
  const auto step = f.depth > 8 ? 2U : 1U;
  switch (f.packing) {
  case Packing::Rgb10:
    return read_rgb10(s, x, y);
  case Packing::Rgb32: {
    const auto *p = s.at(0, x * 4, y);
    return {widen(p[f.order[0]], f.model), widen(p[f.order[1]], f.model),
            widen(p[f.order[2]], f.model),
            f.alpha ? widen(p[f.order[3]], f.model) : std::uint16_t{0xffff}};
  }
  case Packing::Packed422: {
    const auto *p = s.at(0, x / 2 * 4, y);
    return {widen(p[f.order[x % 2 ? 2 : 0]], f.model), widen(p[f.order[1]], f.model),
            widen(p[f.order[3]], f.model), 0xffff};
  }
  case Packing::SemiPlanar: {
    const auto *uv = s.at(1, x / 2 * 2 * step, y / 2);
    return {read_sample(s.at(0, x * step, y), f), read_sample(uv, f), read_sample(uv + step, f),
            0xffff};
  }
  case Packing::Planar:
    break;
  }
  return {read_sample(s.at(f.order[0], x, y), f), read_sample(s.at(f.order[1], x / 2, y / 2), f),
          read_sample(s.at(f.order[2], x / 2, y / 2), f), 0xffff};
}

void write_pixel(const Surface &s, std::uint32_t x, std::uint32_t y, const Pixel &pixel)
{
  const auto &f = *s.format;
  const auto step = f.depth > 8 ? 2U : 1U;
  const bool chroma = x % 2 == 0 && (y % 2 == 0 || f.packing == Packing::Packed422);
  switch (f.packing) {
  case Packing::Rgb10:
    write_rgb10(s, x, y, pixel);
    break;
  case Packing::Rgb32: {
    auto *p = s.at(0, x * 4, y);
    for (unsigned c = 0; c < 3; ++c)
      p[f.order[c]] = narrow(pixel[c], f.model);
    p[f.order[3]] = f.alpha ? narrow(pixel[3], f.model) : 0xff;
    break;
  }
  case Packing::Packed422: {
    auto *p = s.at(0, x / 2 * 4, y);
    p[f.order[x % 2 ? 2 : 0]] = narrow(pixel[0], f.model);
    if (chroma) {
      p[f.order[1]] = narrow(pixel[1], f.model);
      p[f.order[3]] = narrow(pixel[2], f.model);
    }
    break;
  }
  case Packing::SemiPlanar:
    write_sample(s.at(0, x * step, y), pixel[0], f);
    if (chroma) {
      auto *uv = s.at(1, x / 2 * 2 * step, y / 2);
      write_sample(uv, pixel[1], f);
      write_sample(uv + step, pixel[2], f);
    }
    break;
  case Packing::Planar:
    write_sample(s.at(f.order[0], x, y), pixel[0], f);
    if (chroma) {
      write_sample(s.at(f.order[1], x / 2, y / 2), pixel[1], f);
      write_sample(s.at(f.order[2], x / 2, y / 2), pixel[2], f);
    }
    break;
  }
}

Pixel convert(const Pixel &pixel, Model from, Model to, const Conversion &colours)
{
  if (from == Model::Rgb)
    return to == Model::Rgb ? pixel : rgb_to_yuv(pixel, colours.to);
  if (to == Model::Rgb)
    return yuv_to_rgb(pixel, colours.from);
  return colours.from == colours.to ? pixel
                                    : rgb_to_yuv(yuv_to_rgb(pixel, colours.from), colours.to);
}

namespace {

bool even(const Rect &rect)
{
  return rect.x % 2 == 0 && rect.y % 2 == 0;
}

// Same format, same size: plane by plane, in runs that are contiguous on both sides.
void copy(const Surface &from, const Rect &source, const Surface &to, const Rect &target)
{
  for (unsigned i = 0; i < from.format->n_planes; ++i) {
    const auto &shape = from.format->planes[i];
    const auto row_bytes = (target.width + shape.hsub - 1) / shape.hsub * shape.bytes;
    const auto rows = (target.height + shape.vsub - 1) / shape.vsub;
    const auto from_x = static_cast<std::uint32_t>(source.x) / shape.hsub * shape.bytes;
    const auto to_x = static_cast<std::uint32_t>(target.x) / shape.hsub * shape.bytes;
    for (std::uint32_t y = 0; y < rows; ++y) {
      for (std::uint32_t done = 0; done < row_bytes;) {
        std::uint32_t from_run = 0;
        std::uint32_t to_run = 0;
        const auto *s = from.at(i, from_x + done,
                                static_cast<std::uint32_t>(source.y) / shape.vsub + y, &from_run);
        auto *d =
            to.at(i, to_x + done, static_cast<std::uint32_t>(target.y) / shape.vsub + y, &to_run);
        const auto run = std::min({row_bytes - done, from_run, to_run});
        std::memcpy(d, s, run);
        done += run;
      }
    }
  }
}

// The pixel of the source that a pixel of the target shows.
struct Point {
  std::uint32_t x;
  std::uint32_t y;
};
Point source_of(const Point &target, const Rect &source, const Rect &area, Turn turn)
{
  const auto scale = [](std::uint32_t at, std::uint32_t from, std::uint32_t to) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(at) * from / to);
  };
  const bool swaps = turn == Turn::Right90 || turn == Turn::Left90;
  const auto u = scale(target.x, swaps ? source.height : source.width, area.width);
  const auto v = scale(target.y, swaps ? source.width : source.height, area.height);
  const auto right = source.width - 1;
  const auto bottom = source.height - 1;
  Point point{u, v};
  switch (turn) {
  case Turn::Right90:
    point = {v, bottom - u};
    break;
  case Turn::Half:
    point = {right - u, bottom - v};
    break;
  case Turn::Left90:
    point = {right - v, u};
    break;
  case Turn::MirrorX:
    point.x = right - u;
    break;
  case Turn::MirrorY:
    point.y = bottom - v;
    break;
  case Turn::None:
    break;
  }
  return {static_cast<std::uint32_t>(source.x) + point.x,
          static_cast<std::uint32_t>(source.y) + point.y};
}

bool moves(const Surface &from, const Surface *before, const Point &at)
{
  return !before || read_pixel(from, at.x, at.y) != read_pixel(*before, at.x, at.y);
}

} // namespace

void blit(const Surface &from, const Rect &source, const Surface &to, const Rect &target,
          const Conversion &colours, Turn turn, const Lines &lines)
{
  const bool same =
      from.format == to.format && (from.format->model == Model::Rgb || colours.from == colours.to);
  if (turn == Turn::None && lines.field == Field::Both && same && source.width == target.width &&
      source.height == target.height && even(source) && even(target)) {
    copy(from, source, to, target);
    return;
  }
  for (std::uint32_t y = 0; y < target.height; ++y) {
    for (std::uint32_t x = 0; x < target.width; ++x) {
      Point at = source_of({x, y}, source, target, turn);
      if (lines.field != Field::Both && moves(from, lines.before, at))
        at.y = std::min((at.y & ~1U) | (lines.field == Field::Bottom ? 1U : 0U), from.height - 1);
      const auto pixel =
          convert(read_pixel(from, at.x, at.y), from.format->model, to.format->model, colours);
      write_pixel(to, static_cast<std::uint32_t>(target.x) + x,
                  static_cast<std::uint32_t>(target.y) + y, pixel);
    }
  }
}

void fill(const Surface &to, const Rect &target, std::uint32_t argb, const Conversion &colours)
{
  const auto component = [argb](unsigned shift) {
    return static_cast<std::uint16_t>((argb >> shift & 0xffU) * 257U);
  };
  const auto pixel = convert({component(16), component(8), component(0), component(24)}, Model::Rgb,
                             to.format->model, colours);
  for (std::uint32_t y = 0; y < target.height; ++y) {
    for (std::uint32_t x = 0; x < target.width; ++x)
      write_pixel(to, static_cast<std::uint32_t>(target.x) + x,
                  static_cast<std::uint32_t>(target.y) + y, pixel);
  }
}

} // namespace gstdrm::test::vadriver
