// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_patterns.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>

namespace gstdrm::va {
namespace {

constexpr std::uint32_t kBlack = 0xff000000;
constexpr std::uint32_t kWhite = 0xffffffff;
constexpr std::uint32_t kCellBits = 8;

using Colour = std::function<std::uint32_t(std::uint32_t x, std::uint32_t y)>;

Picture paint(std::uint32_t width, std::uint32_t height, const Colour &colour)
{
  Picture picture{width, height,
                  std::vector<std::uint32_t>(static_cast<std::size_t>(width) * height)};
  auto *pixel = picture.argb.data();
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x)
      *pixel++ = colour(x, y);
  }
  return picture;
}

// SMPTE EG 1: seven bars of 75 % at the top, a narrow row of the same colours in reverse order
// below them, and black and white at the bottom.
std::uint32_t smpte(std::uint32_t x, std::uint32_t y, std::uint32_t width, std::uint32_t height)
{
  constexpr std::array<std::uint32_t, 7> bars = {0xffbfbfbf, 0xffbfbf00, 0xff00bfbf, 0xff00bf00,
                                                 0xffbf00bf, 0xffbf0000, 0xff0000bf};
  constexpr std::array<std::uint32_t, 7> reversed = {0xff0000bf, kBlack, 0xffbf00bf, kBlack,
                                                     0xff00bfbf, kBlack, 0xffbfbfbf};
  // In units of two pixels, so that no chroma sample of a subsampled format lies on two bars.
  const auto bar = std::min<std::uint64_t>(6, static_cast<std::uint64_t>(x & ~1U) * 7 / width);
  const auto row = y & ~1U;
  if (row < height * 2 / 3)
    return bars[bar];
  if (row < height * 3 / 4)
    return reversed[bar];
  return static_cast<std::uint64_t>(x & ~1U) * 6 / width == 1 ? kWhite : kBlack;
}

std::uint32_t grey(std::uint64_t value)
{
  const auto level = static_cast<std::uint32_t>(value);
  return kBlack | level << 16 | level << 8 | level;
}

// A gradient from black to white and back to black, so that it repeats without an edge when it
// moves.
std::uint32_t gradient(std::uint32_t x, std::uint32_t width)
{
  const auto phase = static_cast<std::uint64_t>(x % width) * 510 / width;
  return grey(phase < 255 ? phase : 510 - phase);
}

Rect whole(std::uint32_t width, std::uint32_t height)
{
  return {0, 0, width, height};
}

void add_whole(Plan &plan, Picture picture)
{
  const auto from = whole(picture.width, picture.height);
  plan.pictures.push_back(std::move(picture));
  plan.pieces.push_back({plan.pictures.size() - 1, from, whole(plan.width, plan.height)});
}

// Rounded to an even number, so that the ball covers whole chroma samples; 1 if the frame is 1
// pixel wide or high.
std::uint32_t ball_size(const Plan &plan)
{
  const auto side = std::min(plan.width, plan.height);
  return std::min(side, std::max(2U, side / 4 & ~1U));
}

void add_ball(Plan &plan)
{
  const auto size = ball_size(plan);
  add_whole(plan, paint(64, 64, [](auto, auto) { return kBlack; }));
  const auto radius = static_cast<std::int64_t>(size) / 2;
  plan.pictures.push_back(paint(size, size, [radius](std::uint32_t x, std::uint32_t y) {
    const auto dx = 2 * static_cast<std::int64_t>(x) + 1 - 2 * radius;
    const auto dy = 2 * static_cast<std::int64_t>(y) + 1 - 2 * radius;
    return dx * dx + dy * dy <= 4 * radius * radius ? kWhite : kBlack;
  }));
  plan.pieces.push_back({plan.pictures.size() - 1, whole(size, size), whole(size, size)});
}

// A picture with the cells of each of the 256 values of a byte, in columns that are filled one row
// after the other. Each byte of the counter is drawn as a piece of this picture. At most 512 pixels
// high, because drivers have limits.
constexpr std::uint32_t kAtlasColumns = 4;

Picture counter_atlas(std::uint32_t cell)
{
  const auto column = kCellBits * cell;
  return paint(kAtlasColumns * column, 256 / kAtlasColumns * cell, [=](auto x, auto y) {
    const auto value = y / cell * kAtlasColumns + x / column;
    return (value >> (kCellBits - 1 - x % column / cell) & 1U) != 0 ? kWhite : kBlack;
  });
}

void add_counter(Plan &plan, std::uint32_t cell)
{
  add_whole(plan, paint(plan.width, plan.height,
                        [&plan](auto x, auto y) { return smpte(x, y, plan.width, plan.height); }));
  plan.pictures.push_back(counter_atlas(cell));
  for (std::uint32_t i = 0; i < kCounterBytes; ++i)
    plan.pieces.push_back(
        {1, {0, 0, kCellBits * cell, cell}, {0, i * cell, kCellBits * cell, cell}});
}

std::array<std::uint8_t, kCounterBytes> counter_bytes(std::uint64_t frame,
                                                      std::uint64_t timestamp_ns)
{
  std::array<std::uint8_t, kCounterBytes> bytes{};
  for (unsigned i = 0; i < 4; ++i)
    bytes[i] = static_cast<std::uint8_t>(frame >> (8 * (3 - i)));
  for (unsigned i = 0; i < 8; ++i)
    bytes[4 + i] = static_cast<std::uint8_t>(timestamp_ns >> (8 * (7 - i)));
  unsigned sum = 0;
  for (unsigned i = 0; i + 1 < kCounterBytes; ++i)
    sum += bytes[i];
  bytes[kCounterBytes - 1] = static_cast<std::uint8_t>(~sum);
  return bytes;
}

// The position of a ball that moves by `speed` pixels per frame between two walls that are `range`
// pixels apart.
std::uint32_t bounce(std::uint64_t frame, std::uint32_t speed, std::uint32_t range)
{
  if (range < 2)
    return 0;
  const auto phase = static_cast<std::uint32_t>(frame * speed % (2ULL * range));
  return (phase < range ? phase : 2 * range - phase) & ~1U;
}

} // namespace

std::uint32_t counter_cell(std::uint32_t width, std::uint32_t height)
{
  for (const std::uint32_t cell : {8U, 4U, 2U}) {
    if (width >= kCellBits * cell && height >= kCounterBytes * cell)
      return cell;
  }
  return 0;
}

Result<Plan> make_plan(Pattern pattern, std::uint32_t width, std::uint32_t height,
                       std::uint32_t argb, std::uint32_t max_width)
{
  // The limit of gst_drm_allocator_alloc_frame(). With it, a pattern takes at most 2 GiB.
  constexpr std::uint32_t kLongestSide = 16384;
  if (width == 0 || height == 0 || width > kLongestSide || height > kLongestSide)
    return Error{ErrorCode::Layout, "Patterns have 1x1 to 16384x16384 pixels, the frame has " +
                                        std::to_string(width) + "x" + std::to_string(height)};
  Plan plan;
  plan.pattern = pattern;
  plan.width = width;
  plan.height = height;
  const auto cell = counter_cell(width, height);
  switch (pattern) {
  case Pattern::Smpte:
    add_whole(plan,
              paint(width, height, [=](auto x, auto y) { return smpte(x, y, width, height); }));
    break;
  case Pattern::Checkers:
    add_whole(plan, paint(width, height,
                          [](auto x, auto y) { return (x / 8 + y / 8) % 2 ? kWhite : kBlack; }));
    break;
  case Pattern::Gradient:
    // Twice as wide as the frame: each frame shows another part, which makes the gradient move.
    plan.travel = 2 * width <= max_width ? width : 0;
    add_whole(plan,
              paint(width + plan.travel, height, [=](auto x, auto) { return gradient(x, width); }));
    plan.pieces[0].from.width = width;
    break;
  case Pattern::Ball:
    add_ball(plan);
    break;
  case Pattern::Solid:
    add_whole(plan, paint(64, 64, [argb](auto, auto) { return argb; }));
    break;
  case Pattern::FrameCounter:
    if (cell == 0)
      return Error{ErrorCode::Layout, "The frame counter needs 16x26 pixels, the frame has " +
                                          std::to_string(width) + "x" + std::to_string(height)};
    add_counter(plan, cell);
    break;
  }
  return plan;
}

void pad_pictures(Plan &plan, std::uint32_t min_width, std::uint32_t min_height)
{
  for (Picture &picture : plan.pictures) {
    if (picture.width >= min_width && picture.height >= min_height)
      continue;
    const Picture small = std::move(picture);
    picture = paint(
        std::max(small.width, min_width), std::max(small.height, min_height),
        [&small](std::uint32_t x, std::uint32_t y) {
          return small.argb[static_cast<std::size_t>(std::min(y, small.height - 1)) * small.width +
                            std::min(x, small.width - 1)];
        });
  }
}

void move_pieces(Plan &plan, std::uint64_t frame, std::uint64_t timestamp_ns)
{
  if (plan.pattern == Pattern::Gradient && plan.travel > 0) {
    plan.pieces[0].from.x = static_cast<std::uint32_t>(frame * 2 % plan.travel) & ~1U;
  } else if (plan.pattern == Pattern::Ball) {
    const auto size = ball_size(plan);
    plan.pieces[1].to.x = bounce(frame, 4, plan.width - size);
    plan.pieces[1].to.y = bounce(frame, 6, plan.height - size);
  } else if (plan.pattern == Pattern::FrameCounter) {
    const auto bytes = counter_bytes(frame, timestamp_ns);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      Rect &from = plan.pieces[1 + i].from;
      from.x = bytes[i] % kAtlasColumns * from.width;
      from.y = bytes[i] / kAtlasColumns * from.height;
    }
  }
}

void draw(const Plan &plan, Picture &target)
{
  for (const auto &piece : plan.pieces) {
    const auto &source = plan.pictures[piece.picture];
    for (std::uint32_t y = 0; y < piece.to.height; ++y) {
      const auto from_y = piece.from.y + y * piece.from.height / piece.to.height;
      auto *row =
          target.argb.data() + static_cast<std::size_t>(piece.to.y + y) * target.width + piece.to.x;
      const auto *from =
          source.argb.data() + static_cast<std::size_t>(from_y) * source.width + piece.from.x;
      for (std::uint32_t x = 0; x < piece.to.width; ++x)
        row[x] = from[x * piece.from.width / piece.to.width];
    }
  }
}

} // namespace gstdrm::va
