// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "format.hpp"

namespace gstdrm {

// How the implicit modifier of one side is matched with the modifiers of the other (docs/caps.md).
enum class ImplicitRule {
  Strict,          // implicit meets implicit only
  LinearForLegacy, // a fourcc that one side can only do implicitly meets the other side's LINEAR,
                   // as LINEAR
};

// A mathematical set of pairs, kept sorted: linear first within a fourcc, no duplicates. A value
// type; not thread-safe while it is changed.
class FormatSet {
public:
  FormatSet() = default;
  // Any order, duplicates and invalid pairs tolerated (drivers list both): the latter are left out.
  static FormatSet from_pairs(std::vector<Format> pairs);

  // false: invalid pair, or there already
  bool add(Format format);
  [[nodiscard]] bool contains(Format format) const noexcept;
  [[nodiscard]] bool contains_fourcc(std::uint32_t fourcc) const noexcept;
  [[nodiscard]] std::span<const Format> pairs() const noexcept { return pairs_; }
  // All pairs of one fourcc: a view into this set.
  [[nodiscard]] std::span<const Format> of_fourcc(std::uint32_t fourcc) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return pairs_.size(); }
  [[nodiscard]] bool empty() const noexcept { return pairs_.empty(); }

  static FormatSet intersect(const FormatSet &a, const FormatSet &b,
                             ImplicitRule rule = ImplicitRule::Strict);
  static FormatSet unite(const FormatSet &a, const FormatSet &b);
  static FormatSet subtract(const FormatSet &a, const FormatSet &b);
  [[nodiscard]] bool is_subset_of(const FormatSet &other) const noexcept;
  friend bool operator==(const FormatSet &, const FormatSet &) = default;

private:
  std::vector<Format> pairs_;
};

} // namespace gstdrm
