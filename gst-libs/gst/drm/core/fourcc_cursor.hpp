// SPDX-License-Identifier: LGPL-2.1-or-later
// fourcc_info() for the pairs of a set, one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "format.hpp"

namespace gstdrm {

// Goes through the table of known fourccs once beside the pairs of a set, which are sorted; a
// search for each pair starts over. Any order is answered.
class FourccCursor {
public:
  const FourccInfo *find(std::uint32_t fourcc) noexcept;

private:
  std::span<const FourccInfo> rest_ = known_fourccs(); // from `last_` on
  std::uint32_t last_ = 0;
};

// As memory_plane_count(); `info` is that of the pair's fourcc, which the caller has looked up.
unsigned memory_plane_count(Format format, const FourccInfo *info) noexcept;

// The same number, below kMaxShapes, for all fourccs of the table with the same planes: their
// linear layouts are the same.
inline constexpr std::size_t kMaxShapes = 256;
std::size_t fourcc_shape(const FourccInfo &info) noexcept;

} // namespace gstdrm
