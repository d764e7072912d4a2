// SPDX-License-Identifier: LGPL-2.1-or-later
// Model 2 of the test NPU, step by step as its README has it.
#include <algorithm>
#include <array>

#include "npu_reference.hpp"

namespace gstdrm::test {

namespace {

constexpr int kGrid = 64;
constexpr int kPeak = 9;
using Cells = std::array<std::array<int, kGrid>, kGrid>; // rows of columns

int peak(int value, int centre)
{
  return std::max(kPeak - std::abs(value - centre), 0); // what the three ReLU units come to
}

// From `index` cells of kGrid over `samples`: the first sample, and the one after the last.
std::pair<std::uint32_t, std::uint32_t> span_of(std::uint32_t index, std::uint32_t samples)
{
  const std::uint32_t from = index * samples / kGrid;
  return {from, std::max((index + 1) * samples / kGrid, from + 1)};
}

Cells likeness(const FrameLayout &frame, const std::uint8_t *bytes)
{
  Cells cells{};
  const PlaneLayout &chroma = frame.planes[1];
  for (int row = 0; row < kGrid; row++) {
    for (int column = 0; column < kGrid; column++) {
      const auto [top, bottom] = span_of(row, frame.height / 2);
      const auto [left, right] = span_of(column, frame.width / 2);
      int u = 0;
      int v = 0;
      for (std::uint32_t y = top; y < bottom; y++) {
        const std::uint8_t *line =
            bytes + chroma.offset_bytes + static_cast<std::size_t>(y) * chroma.stride_bytes;
        for (std::uint32_t x = left; x < right; x++) {
          u += line[2 * x] - 128;
          v += line[2 * x + 1] - 128;
        }
      }
      const int n = static_cast<int>((right - left) * (bottom - top));
      cells[row][column] = std::min(peak(v / n, 16), peak(u / n, -15));
    }
  }
  return cells;
}

int sum_of(const Cells &cells, int left, int top, int right, int bottom)
{
  int sum = 0;
  for (int y = std::max(top, 0); y < std::min(bottom, kGrid); y++)
    for (int x = std::max(left, 0); x < std::min(right, kGrid); x++)
      sum += cells[y][x];
  return sum;
}

} // namespace

std::vector<float> npu_skin_reference(const FrameLayout &frame, const std::uint8_t *bytes)
{
  constexpr std::pair<int, int> kWindows[] = {{4, 4},   {4, 8},   {6, 6},   {6, 10},
                                              {8, 8},   {8, 14},  {12, 12}, {12, 20},
                                              {16, 16}, {16, 24}, {20, 28}};
  const Cells cells = likeness(frame, bytes);
  std::array<std::vector<float>, 5> rows;
  for (const auto &[w, h] : kWindows) {
    for (int y = 0; y + h <= kGrid; y += 2) {
      for (int x = 0; x + w <= kGrid; x += 2) {
        const int inside = sum_of(cells, x, y, x + w, y + h);
        const int around = sum_of(cells, x - 2, y - 2, x + w + 2, y + h + 2) - inside;
        const int frame_cells = (w + 4) * (h + 4) - w * h;
        const int contrast =
            std::max(inside * 256 / (kPeak * w * h) - around * 256 / (kPeak * frame_cells), 0);
        rows[0].push_back(4 * static_cast<float>(x) + 2 * static_cast<float>(w));
        rows[1].push_back(4 * static_cast<float>(y) + 2 * static_cast<float>(h));
        rows[2].push_back(4 * static_cast<float>(w));
        rows[3].push_back(4 * static_cast<float>(h));
        rows[4].push_back(static_cast<float>(512 * contrast / (256 + contrast)) / 256);
      }
    }
  }
  std::vector<float> result;
  for (const auto &row : rows)
    result.insert(result.end(), row.begin(), row.end());
  return result;
}

} // namespace gstdrm::test
