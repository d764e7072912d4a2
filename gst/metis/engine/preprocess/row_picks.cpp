// SPDX-License-Identifier: LGPL-2.1-or-later
#include "row_picks.hpp"

#include <algorithm>

namespace gstdrm::metis {

namespace {

constexpr std::uint32_t kWindow = PickTable::kWindowBytes;
constexpr std::size_t kPerWindow = PickTable::kPerWindow;
constexpr std::size_t kBlock = PickTable::kBlock;
constexpr std::uint8_t kNothing = 0x80; // a shuffle writes 0 there

} // namespace

RowPicks::RowPicks(const Axis &axis, std::uint32_t samples, std::uint32_t parts)
{
  const std::size_t n = axis.first.size();
  const std::size_t padded = padded_to_block(n);
  for (std::size_t i = 0; i < padded; ++i) {
    const std::size_t from = std::min(i, n - 1); // the padding repeats the last one
    const std::uint32_t first = axis.first[from];
    first_.push_back(first * parts);
    second_.push_back(std::min(first + 1, samples - 1) * parts);
    weights_.push_back(static_cast<std::uint8_t>(128 - axis.weight[from]));
    weights_.push_back(static_cast<std::uint8_t>(axis.weight[from]));
  }
  find_windows(samples * parts, parts);
}

void RowPicks::find_windows(std::uint32_t row_bytes, std::uint32_t parts)
{
  if (row_bytes < kWindow)
    return;
  for (std::size_t i = 0; i < first_.size(); i += kPerWindow) {
    const std::uint32_t start = std::min(first_[i], row_bytes - kWindow);
    if (second_[i + kPerWindow - 1] + parts - start > kWindow)
      return windows_.clear();
    windows_.push_back(start);
  }
  fill_shuffles();
}

// Of each block two vectors: the first takes from the even windows, the second from the odd ones.
void RowPicks::fill_shuffles()
{
  shuffles_.assign(first_.size() * 4, kNothing);
  for (std::size_t i = 0; i < first_.size(); ++i) {
    const std::uint32_t start = windows_[i / kPerWindow];
    const std::size_t vector = i / kBlock * 2 + i / kPerWindow % 2;
    std::uint8_t *pair = &shuffles_[vector * 2 * kBlock + i % kBlock * 2];
    pair[0] = static_cast<std::uint8_t>(first_[i] - start);
    pair[1] = static_cast<std::uint8_t>(second_[i] - start);
  }
}

PickTable RowPicks::table() const noexcept
{
  return {first_.data(),    second_.data(),
          weights_.data(),  windows_.empty() ? nullptr : windows_.data(),
          shuffles_.data(), first_.size()};
}

} // namespace gstdrm::metis
