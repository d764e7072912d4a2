// SPDX-License-Identifier: LGPL-2.1-or-later
// Test patterns as a few prepared pictures and where their pieces go in each frame. Plain values:
// no libva.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gst/drm/core/result.hpp>

namespace gstdrm::va {

// Same order as the element's enum.
enum class Pattern { Smpte, Checkers, Gradient, Ball, Solid, FrameCounter };

enum class Matrix { Bt601, Bt709 };

struct Rect {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

// 0xAARRGGBB, rows one after the other.
struct Picture {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint32_t> argb;
};

struct Piece {
  std::size_t picture = 0;
  Rect from;
  Rect to;
};

// What is uploaded once, and the pieces as they are in frame 0.
struct Plan {
  Pattern pattern{};
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t travel = 0; // pixels that the gradient can move by
  std::vector<Picture> pictures;
  std::vector<Piece> pieces;
};

// Error for a size that the pattern does not fit in. No picture is wider than the larger of `width`
// and `max_width`.
Result<Plan> make_plan(Pattern pattern, std::uint32_t width, std::uint32_t height,
                       std::uint32_t argb, std::uint32_t max_width = 8192);
// Moves the pieces to where they are in this frame; allocates nothing.
void move_pieces(Plan &plan, std::uint64_t frame, std::uint64_t timestamp_ns);
// The frame drawn by the CPU, for drivers without video processing.
void draw(const Plan &plan, Picture &target);

// The frame counter: 13 bytes, one per row of 8 square cells, the highest bit left, black 0 and
// white 1, in the upper left corner: frame number (4 bytes, highest first), timestamp in
// nanoseconds (8 bytes), and the sum of these 12 bytes, inverted.
inline constexpr std::uint32_t kCounterBytes = 13;
// Side of a cell in pixels; 0 where the counter does not fit.
std::uint32_t counter_cell(std::uint32_t width, std::uint32_t height);

} // namespace gstdrm::va
