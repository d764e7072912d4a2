// SPDX-License-Identifier: LGPL-2.1-or-later
#include "axis.hpp"

#include <algorithm>

namespace gstdrm::metis {

namespace {

constexpr std::uint32_t kWindow = PickTable::kWindowBytes;
constexpr std::size_t kPerWindow = PickTable::kPerWindow;
constexpr std::size_t kBlock = PickTable::kBlock;
constexpr std::uint8_t kZero = 0x80; // pshufb writes 0 for this index

} // namespace

Axis make_axis(std::uint32_t picture, std::uint32_t content, std::uint32_t samples, Siting siting)
{
  const std::int64_t per_pixel = siting == Siting::Pixel ? 64 : 32;
  const std::int64_t centre = siting == Siting::HalfOnFirst ? 32 : 64;
  const std::int64_t last = 128 * (static_cast<std::int64_t>(samples) - 1);
  Axis axis;
  axis.first.reserve(content);
  axis.weight.reserve(content);
  for (std::int64_t x = 0; x < content; ++x) {
    // both operands are positive: the division rounds down
    const std::int64_t centred = ((2 * x + 1) * picture * per_pixel * 2 + content) /
                                 (2 * static_cast<std::int64_t>(content));
    const std::int64_t position = std::clamp<std::int64_t>(centred - centre, 0, last);
    axis.first.push_back(static_cast<std::uint32_t>(position / 128));
    axis.weight.push_back(static_cast<std::int32_t>(position % 128));
  }
  return axis;
}

Extent letterbox(std::uint64_t along, std::uint32_t room, std::uint64_t across,
                 std::uint32_t across_room)
{
  const std::uint64_t along_limits = room * across;
  const std::uint64_t across_limits = across_room * along;
  if (along_limits <= across_limits)
    return {0, room};
  const std::uint64_t rounded = (across_limits + across / 2) / across;
  const auto size = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(rounded, 1, room));
  return {(room - size) / 2, size};
}

RowPicks::RowPicks(const Axis &axis, std::uint32_t samples, std::uint32_t parts)
{
  const std::size_t n = axis.first.size();
  const std::size_t padded = padded_to_block(n);
  for (std::size_t i = 0; i < padded; ++i) {
    const std::size_t from = std::min(i, n - 1); // the padding repeats the last pixel
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

// Two vectors for each block: the first picks from the even windows, the second from the odd ones.
void RowPicks::fill_shuffles()
{
  shuffles_.assign(first_.size() * 4, kZero);
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
