// SPDX-License-Identifier: LGPL-2.1-or-later
#include "format_set.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "drm_facts.hpp"

namespace gstdrm {

namespace {

constexpr bool before(const Format &a, const Format &b) noexcept
{
  return a.fourcc != b.fourcc ? a.fourcc < b.fourcc : a.modifier < b.modifier;
}

// Drivers list a SAND tiling without a column height and take each: vc4_format_mod_supported() and
// Mesa's v3d compare fourcc_mod_broadcom_mod() of drm_fourcc.h. A frame's modifier has its own.
constexpr std::uint64_t without_column_height(std::uint64_t modifier) noexcept
{
  return modifier >> 56 == DRM_FORMAT_MOD_VENDOR_BROADCOM ? fourcc_mod_broadcom_mod(modifier)
                                                          : modifier;
}

// Whether the list takes the pair with any column height.
bool has_for_each_height(std::span<const Format> pairs, const Format &format) noexcept
{
  const std::uint64_t modifier = without_column_height(format.modifier);
  return modifier != format.modifier &&
         std::binary_search(pairs.begin(), pairs.end(), Format{format.fourcc, modifier}, before);
}

// End of the run of `it`'s fourcc.
const Format *run_end(const Format *it, const Format *end) noexcept
{
  const std::uint32_t fourcc = it->fourcc;
  while (it != end && it->fourcc == fourcc)
    ++it;
  return it;
}

bool only_implicit(std::span<const Format> run) noexcept
{
  return run.size() == 1 && run.front().modifier == kModImplicit;
}

bool has_linear(std::span<const Format> run) noexcept
{
  return run.front().modifier == kModLinear; // sorts first
}

} // namespace

FormatSet FormatSet::from_pairs(std::vector<Format> pairs)
{
  std::erase_if(pairs, [](const Format &format) { return !fourcc_is_valid(format.fourcc); });
  if (!std::is_sorted(pairs.begin(), pairs.end(), before))
    std::sort(pairs.begin(), pairs.end(), before);
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  FormatSet set;
  set.pairs_ = std::move(pairs);
  return set;
}

bool FormatSet::add(Format format)
{
  if (!fourcc_is_valid(format.fourcc))
    return false;
  // drivers mostly list in order, or nearly so
  if (pairs_.empty() || before(pairs_.back(), format)) {
    pairs_.push_back(format);
    return true;
  }
  const auto it = std::lower_bound(pairs_.begin(), pairs_.end(), format, before);
  if (*it == format)
    return false;
  pairs_.insert(it, format);
  return true;
}

bool FormatSet::contains(Format format) const noexcept
{
  return std::binary_search(pairs_.begin(), pairs_.end(), format, before) ||
         has_for_each_height(pairs_, format);
}

bool FormatSet::contains_fourcc(std::uint32_t fourcc) const noexcept
{
  return !of_fourcc(fourcc).empty();
}

std::span<const Format> FormatSet::of_fourcc(std::uint32_t fourcc) const noexcept
{
  const auto first =
      std::lower_bound(pairs_.begin(), pairs_.end(), fourcc,
                       [](const Format &format, std::uint32_t f) { return format.fourcc < f; });
  const auto last = std::find_if(
      first, pairs_.end(), [fourcc](const Format &format) { return format.fourcc != fourcc; });
  return {first, last};
}

namespace {

// One merge over two sorted arrays. This is what a caps query costs, so it is written for speed:
// room for the longest result first, no per-element capacity check.
std::vector<Format> intersect_strict(std::span<const Format> a, std::span<const Format> b)
{
  std::vector<Format> common;
  common.reserve(std::min(a.size(), b.size()));
  const Format *i = a.data();
  const Format *j = b.data();
  const Format *const i_end = i + a.size();
  const Format *const j_end = j + b.size();
  while (i != i_end && j != j_end) {
    if (before(*i, *j)) {
      if (has_for_each_height(b, *i))
        common.push_back(*i);
      ++i;
    } else if (before(*j, *i)) {
      if (has_for_each_height(a, *j))
        common.push_back(*j);
      ++j;
    } else {
      common.push_back(*i);
      ++i;
      ++j;
    }
  }
  std::copy_if(i, i_end, std::back_inserter(common),
               [b](const Format &pair) { return has_for_each_height(b, pair); });
  std::copy_if(j, j_end, std::back_inserter(common),
               [a](const Format &pair) { return has_for_each_height(a, pair); });
  return common;
}

// The same by runs of one fourcc, with the rule for sides that know no modifiers.
std::vector<Format> intersect_legacy(std::span<const Format> a, std::span<const Format> b)
{
  std::vector<Format> common;
  const Format *i = a.data();
  const Format *j = b.data();
  const Format *const i_end = i + a.size();
  const Format *const j_end = j + b.size();
  while (i != i_end && j != j_end) {
    if (i->fourcc != j->fourcc) {
      (i->fourcc < j->fourcc ? i : j) =
          i->fourcc < j->fourcc ? run_end(i, i_end) : run_end(j, j_end);
      continue;
    }
    const std::span run_a(i, run_end(i, i_end));
    const std::span run_b(j, run_end(j, j_end));
    const bool legacy =
        (only_implicit(run_a) && has_linear(run_b)) || (only_implicit(run_b) && has_linear(run_a));
    if (legacy)
      common.push_back({i->fourcc, kModLinear});
    // implicit still meets implicit, and sorts after linear
    const std::vector<Format> same = intersect_strict(run_a, run_b);
    common.insert(common.end(), same.begin(), same.end());
    i += run_a.size();
    j += run_b.size();
  }
  return common;
}

} // namespace

FormatSet FormatSet::intersect(const FormatSet &a, const FormatSet &b, ImplicitRule rule)
{
  FormatSet set;
  set.pairs_ = rule == ImplicitRule::Strict ? intersect_strict(a.pairs_, b.pairs_)
                                            : intersect_legacy(a.pairs_, b.pairs_);
  return set;
}

FormatSet FormatSet::unite(const FormatSet &a, const FormatSet &b)
{
  FormatSet set;
  set.pairs_.reserve(a.size() + b.size());
  std::set_union(a.pairs_.begin(), a.pairs_.end(), b.pairs_.begin(), b.pairs_.end(),
                 std::back_inserter(set.pairs_), before);
  return set;
}

FormatSet FormatSet::subtract(const FormatSet &a, const FormatSet &b)
{
  FormatSet set;
  set.pairs_.reserve(a.size());
  std::set_difference(a.pairs_.begin(), a.pairs_.end(), b.pairs_.begin(), b.pairs_.end(),
                      std::back_inserter(set.pairs_), before);
  // A SAND tiling without a column height goes with any height of it: nothing that is left meets
  // anything of `b`, so that a display that refused a frame's pair no longer offers it.
  std::erase_if(set.pairs_, [&b](const Format &pair) {
    return pair.modifier >> 56 == DRM_FORMAT_MOD_VENDOR_BROADCOM &&
           !intersect(from_pairs({pair}), b).empty();
  });
  return set;
}

bool FormatSet::is_subset_of(const FormatSet &other) const noexcept
{
  return std::includes(other.pairs_.begin(), other.pairs_.end(), pairs_.begin(), pairs_.end(),
                       before) ||
         std::all_of(pairs_.begin(), pairs_.end(),
                     [&other](const Format &pair) { return other.contains(pair); });
}

} // namespace gstdrm
