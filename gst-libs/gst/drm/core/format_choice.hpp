// SPDX-License-Identifier: LGPL-2.1-or-later
// Which fourcc a producer makes, and with which modifiers it allocates.
#pragma once

#include <cstdint>
#include <vector>

#include "format_list.hpp"

namespace gstdrm {

struct Candidate {
  std::uint32_t fourcc = 0;
  std::vector<std::uint64_t> modifiers; // every common one, sorted; the driver chooses
};

// What both sides can do, in the order of downstream; within one fourcc nothing is preferred,
// because only the driver knows.
std::vector<Candidate> rank_candidates(const FormatSet &device, const FormatList &downstream);

} // namespace gstdrm
