// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "conflict.hpp"
#include "constraints.hpp"

namespace gstdrm {

inline constexpr std::size_t kMaxAccessors = 256;

struct PlaneSpan {
  std::uint64_t offset_bytes = 0; // from the start of the buffer
  std::uint64_t stride_bytes = 0; // from one row, or one element of the dimension, to the next
  friend bool operator==(const PlaneSpan &, const PlaneSpan &) = default;
};

// How a buffer has to be laid out. An image: a plane each. A pyramid: the planes of the largest
// level first. A tensor: a dimension each, all at offset 0. An array and raw memory: one.
struct BufferLayout {
  std::optional<Format> format; // of images
  std::vector<PlaneSpan> planes;
  std::uint64_t size_bytes = 0;
};

// The memory to allocate from.
struct HeapChoice {
  std::uint32_t kind = kPlaceSystem; // 0: the named heap
  std::string name; // of a heap, or of the device; empty for system and contiguous memory
};

struct Reconciled {
  Constraints merged; // may be reconciled with further accessors
  BufferType type = BufferType::Image;
  HeapChoice heap;
  // None where the driver decides on the layout (no linear format in common), or where a size is
  // not a single number.
  std::optional<BufferLayout> layout;
};

using Reconciliation = std::variant<Reconciled, Conflict>;

// The constraints that suit every accessor, or why there are none. The order of the accessors
// carries no meaning. An accessor that is there twice, with one name and the same values, counts
// once. Without accessors the result asks for nothing.
Reconciliation reconcile(std::span<const Constraints *const> accessors);

// For reconcile(): the layout of the merged constraints, or a KeyConflict, which has no changes
// yet.
using LayoutOutcome = std::variant<std::optional<BufferLayout>, KeyConflict>;
// Takes the linear pairs out of `merged` that have no layout that fits.
LayoutOutcome lay_out(Constraints &merged, BufferType type);

// For reconcile(): what follows from several keys. Adds to `failures`, which has the keys that
// failed by themselves, and takes pairs out of `merged` that do not suit its other keys.
std::optional<BufferLayout> check_together(std::span<const Constraints *const> accessors,
                                           BufferType type, Constraints &merged,
                                           std::vector<KeyConflict> &failures);

// For reconcile(): fills in the smallest changes.
void suggest_changes(Conflict &conflict);

} // namespace gstdrm
