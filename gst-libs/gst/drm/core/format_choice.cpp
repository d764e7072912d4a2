// SPDX-License-Identifier: LGPL-2.1-or-later
#include "format_choice.hpp"

#include "log.hpp"

namespace gstdrm {

std::vector<Candidate> rank_candidates(const FormatSet &device, const FormatList &downstream)
{
  const auto common = FormatList::intersect(downstream, device).pairs();
  std::vector<Candidate> candidates;
  for (const auto &pair : common) {
    if (candidates.empty() || candidates.back().fourcc != pair.fourcc)
      candidates.push_back({pair.fourcc, {}});
    candidates.back().modifiers.push_back(pair.modifier);
  }
  GSTDRM_DEBUG("%zu pairs of %zu and %zu are common, of %zu fourccs; tried in this order:",
               common.size(), device.size(), downstream.set().size(), candidates.size());
  for (const auto &candidate : candidates)
    GSTDRM_DEBUG("  %s with %zu modifiers", fourcc_to_string(candidate.fourcc).c_str(),
                 candidate.modifiers.size());
  return candidates;
}

} // namespace gstdrm
