// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace gstdrm {

// A tiling whose planes take stride x (rows rounded up to whole tiles) bytes, where the stride is
// the bytes from one row of pixels to the next as if the rows lay side by side.
struct Tiling {
  std::array<std::uint32_t, 2> tile_rows; // of the first plane, of the others
};

// None for linear, implicit and every layout whose size is not sure: those stay opaque.
std::optional<Tiling> known_tiling(std::uint64_t modifier) noexcept;

} // namespace gstdrm
