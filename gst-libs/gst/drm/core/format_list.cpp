// SPDX-License-Identifier: LGPL-2.1-or-later
#include "format_list.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "drm_facts.hpp"

namespace gstdrm {

namespace {

// Four characters each. The stars stand for every fourcc that is not named.
constexpr std::string_view kOrder = "NV12XR24AR24XB24AB24BX24BA24RX24RA24YU12YV12NV21"
                                    "YUYVUYVYYVYUVYUYNV16NV61YU16YV16NV24NV42YU24YV24"
                                    "RG24BG24AYUVXYUVAVUYXVUYVU24****"
                                    "P010NV15P030XR30AR30XB30AB30P210NV20Y210Y410XV30"
                                    "P012Y212P016Y216RG48BG48"
                                    "XR48AR48XB48AB48XR4HAR4HXB4HAB4HAB10Y412XV36Y416XV48"
                                    "R8  GREYR10 R12 R16 C8  R4  R2  R1  ";
constexpr std::size_t kNamed = kOrder.size() / 4;

constexpr auto kFourccs = [] {
  std::array<std::uint32_t, kNamed> fourccs{};
  for (std::size_t i = 0; i < kNamed; ++i)
    fourccs[i] =
        make_fourcc(kOrder[4 * i], kOrder[4 * i + 1], kOrder[4 * i + 2], kOrder[4 * i + 3]);
  return fourccs;
}();

std::size_t rank(std::uint32_t fourcc) noexcept
{
  fourcc &= ~kFourccBigEndian;
  constexpr auto kOthers = make_fourcc('*', '*', '*', '*');
  const auto *found = std::find(kFourccs.begin(), kFourccs.end(), fourcc);
  if (found == kFourccs.end())
    found = std::find(kFourccs.begin(), kFourccs.end(), kOthers);
  return static_cast<std::size_t>(found - kFourccs.begin());
}

} // namespace

FormatList::FormatList(FormatSet set) : set_(std::move(set))
{
  std::vector<std::pair<std::size_t, std::uint32_t>> ranked;
  for (const Format &pair : set_.pairs())
    if (ranked.empty() || ranked.back().second != pair.fourcc)
      ranked.emplace_back(rank(pair.fourcc), pair.fourcc);
  std::sort(ranked.begin(), ranked.end());
  fourccs_.reserve(ranked.size());
  for (const auto &[place, fourcc] : ranked)
    fourccs_.push_back(fourcc);
}

FormatList FormatList::in_order(std::vector<Format> pairs)
{
  FormatList list;
  for (const Format &pair : pairs)
    if (std::find(list.fourccs_.rbegin(), list.fourccs_.rend(), pair.fourcc) ==
        list.fourccs_.rend())
      list.fourccs_.push_back(pair.fourcc);
  list.set_ = FormatSet::from_pairs(std::move(pairs));
  return list;
}

std::vector<Format> FormatList::pairs() const
{
  std::vector<Format> pairs;
  pairs.reserve(set_.size());
  for (const std::uint32_t fourcc : fourccs_) {
    const auto same = set_.of_fourcc(fourcc);
    pairs.insert(pairs.end(), same.begin(), same.end());
  }
  return pairs;
}

FormatList FormatList::intersect(const FormatList &first, const FormatSet &second)
{
  FormatList common;
  common.set_ = FormatSet::intersect(first.set_, second);
  common.fourccs_ = first.fourccs_;
  return common;
}

} // namespace gstdrm
