// SPDX-License-Identifier: LGPL-2.1-or-later
// Where a row of the tensor finds its samples in a row of bytes, in the form that the loops want.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "axis.hpp"
#include "rows.hpp"

namespace gstdrm::metis {

// Pixels that the loops write for a row of `n`.
constexpr std::size_t padded_to_block(std::size_t n) noexcept
{
  return (n + PickTable::kBlock - 1) / PickTable::kBlock * PickTable::kBlock;
}

class RowPicks {
public:
  RowPicks() = default;
  // Of a row of `samples` samples with `parts` bytes each, 1 or 2.
  RowPicks(const Axis &axis, std::uint32_t samples, std::uint32_t parts);

  // Valid as long as this object is.
  [[nodiscard]] PickTable table() const noexcept;

private:
  void find_windows(std::uint32_t row_bytes, std::uint32_t parts);
  void fill_shuffles();

  std::vector<std::uint32_t> first_, second_;
  std::vector<std::uint8_t> weights_;
  std::vector<std::uint32_t> windows_;
  std::vector<std::uint8_t> shuffles_;
};

} // namespace gstdrm::metis
