// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "format_set.hpp"

namespace gstdrm {

// A format set whose fourccs are in an order of preference, best first: what an offer says. Within
// a fourcc the pairs are sorted, because only the driver that allocates knows its best modifier.
class FormatList {
public:
  FormatList() = default;
  // In the order for consumers that have no other: 8 bits before more, YUV 4:2:0 and 32-bit RGB
  // before the rest, 64 bits a pixel and single channels last.
  explicit FormatList(FormatSet set);
  // In the order in which `pairs` first name each fourcc.
  static FormatList in_order(std::vector<Format> pairs);

  [[nodiscard]] const FormatSet &set() const noexcept { return set_; }
  [[nodiscard]] std::vector<Format> pairs() const;

  // The pairs of both, in the order of the first.
  static FormatList intersect(const FormatList &first, const FormatSet &second);

private:
  FormatSet set_;
  std::vector<std::uint32_t> fourccs_; // each fourcc of the set once; others have no pairs
};

} // namespace gstdrm
