// SPDX-License-Identifier: LGPL-2.1-or-later
#include "npu_reference.hpp"

#include <algorithm>
#include <vector>

namespace gstdrm::test {

namespace {

// Samples of one plane: `channels` of them at each place.
struct Samples {
  const std::uint8_t *bytes;
  std::uint32_t width;
  std::uint32_t height;
  std::uint32_t stride;
  std::uint32_t channels;

  [[nodiscard]] int at(std::uint32_t x, std::uint32_t y, std::uint32_t channel) const
  {
    return bytes[static_cast<std::size_t>(y) * stride + x * channels + channel] - 128;
  }
};

int weight(int n, int factor, int summand)
{
  return (factor * n + summand) % 31 - 15;
}

// Step 1: the site in a row and column of the grid, for the output channel c.
int site(const Samples &plane, int grid, int factor, int summand, int c, int row, int column)
{
  const std::uint32_t x = column * (plane.width - 3) / (grid - 1);
  const std::uint32_t y = row * (plane.height - 3) / (grid - 1);
  const int taps = 9 * static_cast<int>(plane.channels);
  int sum = 64 * c;
  int t = 0;
  for (std::uint32_t dy = 0; dy < 3; dy++)
    for (std::uint32_t dx = 0; dx < 3; dx++)
      for (std::uint32_t channel = 0; channel < plane.channels; channel++, t++)
        sum += weight(c * taps + t, factor, summand) * plane.at(x + dx, y + dy, channel);
  return std::min(std::max(sum, 0), 127 * 64) >> 6;
}

// Step 2: upper left, upper right, lower left, lower right, for each channel.
std::vector<int> features(const Samples &plane, int grid, int factor, int summand)
{
  std::vector<int> means;
  const int half = grid / 2;
  for (int c = 0; c < 4; c++) {
    for (const auto &[top, left] : {std::pair(0, 0), {0, half}, {half, 0}, {half, half}}) {
      int sum = 0;
      for (int row = top; row < top + half; row++)
        for (int column = left; column < left + half; column++)
          sum += site(plane, grid, factor, summand, c, row, column);
      means.push_back(sum / (half * half));
    }
  }
  return means;
}

std::uint32_t checksum(const Samples &plane)
{
  std::uint32_t sum = 0;
  for (std::uint32_t y = 0; y < plane.height; y++) {
    const std::uint8_t *row = plane.bytes + static_cast<std::size_t>(y) * plane.stride;
    for (std::uint32_t x = 0; x < plane.width * plane.channels; x++)
      sum = 31 * sum + row[x];
  }
  return sum;
}

std::int8_t *put(std::int8_t *to, std::uint32_t number, int bytes)
{
  for (int i = 0; i < bytes; i++)
    *to++ = static_cast<std::int8_t>(number >> (8 * i));
  return to;
}

} // namespace

NpuResult npu_reference(const FrameLayout &frame, const std::uint8_t *bytes)
{
  const auto &planes = frame.planes;
  const Samples luma{bytes + planes[0].offset_bytes, frame.width, frame.height,
                     planes[0].stride_bytes, 1};
  const Samples chroma{bytes + planes[1].offset_bytes, frame.width / 2, frame.height / 2,
                       planes[1].stride_bytes, 2};
  std::vector<int> inputs = features(luma, 16, 37, 11);
  const std::vector<int> more = features(chroma, 8, 29, 7);
  inputs.insert(inputs.end(), more.begin(), more.end());
  NpuResult result{};
  for (int o = 0; o < 16; o++) {
    int sum = 0;
    for (int f = 0; f < 32; f++)
      sum += weight(32 * o + f, 23, 5) * inputs[f];
    result[o] = static_cast<std::int8_t>(std::clamp(sum >> 7, -128, 127));
  }
  std::int8_t *to = put(&result[16], checksum(luma), 4);
  to = put(to, checksum(chroma), 4);
  to = put(to, frame.width, 2);
  to = put(to, frame.height, 2);
  to = put(to, luma.bytes[0], 1);
  to = put(to, luma.at(luma.width - 1, luma.height - 1, 0) + 128, 1);
  to = put(to, chroma.at(chroma.width - 1, chroma.height - 1, 0) + 128, 1);
  put(to, chroma.at(chroma.width - 1, chroma.height - 1, 1) + 128, 1);
  return result;
}

} // namespace gstdrm::test
