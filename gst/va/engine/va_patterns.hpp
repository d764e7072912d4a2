// SPDX-License-Identifier: LGPL-2.1-or-later
// Test patterns. A pattern is a few pictures, prepared once, and a list of pieces of those pictures
// with the place of each piece in a frame. Plain values, without libva.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gst/drm/core/result.hpp>

namespace gstdrm::va {

// Same order as the element's enum.
enum class Pattern { Smpte, Checkers, Gradient, Ball, Solid, FrameCounter };

enum class Matrix { Bt601, Bt709, Bt2020 };

// RGB has full range, and the matrix of the YUV on the other side of a conversion.
struct Colours {
  Matrix matrix{};
  bool full_range = false;
  friend bool operator==(const Colours &, const Colours &) = default;
};

struct Rect {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

// A picture whose pixels are 0xAARRGGBB, with no padding between rows.
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

// The pictures that are uploaded once, and the places of the pieces in frame 0.
struct Plan {
  Pattern pattern{};
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t travel = 0; // pixels by which the gradient can move
  std::vector<Picture> pictures;
  std::vector<Piece> pieces;
};

// Error for a size that is too small for the pattern. No picture is wider than the larger of
// `width` and `max_width`.
Result<Plan> make_plan(Pattern pattern, std::uint32_t width, std::uint32_t height,
                       std::uint32_t argb, std::uint32_t max_width = 8192);
// Makes each picture at least that large, by repeating its last column and row. The pieces stay.
void pad_pictures(Plan &plan, std::uint32_t min_width, std::uint32_t min_height);
// Moves the pieces to their places in this frame. Allocates nothing.
void move_pieces(Plan &plan, std::uint64_t frame, std::uint64_t timestamp_ns);
// Draws the frame with the CPU, for drivers without video processing.
void draw(const Plan &plan, Picture &target);

// The frame counter: 13 bytes, one per row of 8 square cells, the highest bit left, black 0 and
// white 1, in the upper left corner: frame number (4 bytes, highest first), timestamp in
// nanoseconds (8 bytes), and the sum of these 12 bytes, inverted.
inline constexpr std::uint32_t kCounterBytes = 13;
// Side of a cell in pixels; 0 if the counter does not fit.
std::uint32_t counter_cell(std::uint32_t width, std::uint32_t height);

} // namespace gstdrm::va
