// SPDX-License-Identifier: LGPL-2.1-or-later
#include "format_choice.hpp"

#include <algorithm>
#include <array>

#include <drm_fourcc.h>

#include "log.hpp"

namespace gstdrm {
namespace {

constexpr std::array kOrder = {
    DRM_FORMAT_NV12,        DRM_FORMAT_XRGB8888,    DRM_FORMAT_ARGB8888, DRM_FORMAT_XBGR8888,
    DRM_FORMAT_ABGR8888,    DRM_FORMAT_P010,        DRM_FORMAT_YUYV,     DRM_FORMAT_UYVY,
    DRM_FORMAT_YUV420,      DRM_FORMAT_YVU420,      DRM_FORMAT_BGRX8888, DRM_FORMAT_BGRA8888,
    DRM_FORMAT_XRGB2101010, DRM_FORMAT_ARGB2101010,
};

std::size_t rank(std::uint32_t fourcc)
{
  return static_cast<std::size_t>(std::find(kOrder.begin(), kOrder.end(), fourcc) - kOrder.begin());
}

} // namespace

std::vector<Candidate> rank_candidates(const FormatSet &device, const FormatSet &downstream)
{
  const auto common = FormatSet::intersect(device, downstream);
  std::vector<Candidate> candidates;
  for (const auto &pair : common.pairs()) {
    if (candidates.empty() || candidates.back().fourcc != pair.fourcc)
      candidates.push_back({pair.fourcc, {}});
    candidates.back().modifiers.push_back(pair.modifier);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto &a, const auto &b) { return rank(a.fourcc) < rank(b.fourcc); });
  GSTDRM_DEBUG("%zu pairs of %zu and %zu are common, of %zu fourccs; tried in this order:",
               common.size(), device.size(), downstream.size(), candidates.size());
  for (const auto &candidate : candidates)
    GSTDRM_DEBUG("  %s with %zu modifiers", fourcc_to_string(candidate.fourcc).c_str(),
                 candidate.modifiers.size());
  return candidates;
}

} // namespace gstdrm
