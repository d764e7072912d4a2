// SPDX-License-Identifier: LGPL-2.1-or-later
// What one accessor of a buffer asks of it, beyond its format: alignments, sizes, placement. The
// accessors of one buffer are reconciled by reconcile() (reconcile.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format_set.hpp"

namespace gstdrm {

enum class BufferType : std::uint8_t { Image, Raw, Tensor, Array, Pyramid };
inline constexpr std::size_t kBufferTypes = 5;

// Same order and meaning as GstDrmConstraintKey in the C API; a test keeps the two in step.
enum class ConstraintKey : std::uint8_t {
  BufferType,    // a BufferType
  Formats,       // the set of pairs
  Width,         // pixels
  Height,        // pixels
  Stride,        // bytes, of the first plane of a linear image
  Size,          // bytes, of the whole buffer
  StrideAlign,   // bytes, a power of two
  OffsetAlign,   // bytes, a power of two
  SizeAlign,     // bytes, a power of two
  BaseAlign,     // bytes, a power of two
  Planes,        // memory planes of a frame
  Fds,           // file descriptors of a frame
  Placement,     // kinds of memory, and named heaps
  CpuAccess,     // Access flags: how the CPU maps the buffer
  Permissions,   // Access flags: what the accessor's device does with the buffer
  BuffersHeld,   // buffers that the accessor keeps at a time
  Buffers,       // buffers that a pool may have
  TensorType,    // a TensorElement
  TensorDims,    // elements in each dimension, the innermost last
  ArrayElement,  // bytes of one element
  ArrayCapacity, // elements
  PyramidLevels, // images
  PyramidScale,  // of each level from the one before, 16.16 fixed point below 1.0
};
inline constexpr std::size_t kConstraintKeys = 23;

// How the values of several accessors become one.
enum class MergeRule : std::uint8_t {
  Equal,     // all have to be the same
  Range,     // a minimum and a maximum: intersect
  Align,     // powers of two: the largest; 0 asks for nothing
  Flags,     // flags: the union
  Sum,       // numbers: the sum
  Formats,   // sets: intersect
  Placement, // sets: intersect
  Dims,      // lists: all have to be the same
};

struct ConstraintKeyFacts {
  ConstraintKey key;
  std::string_view name; // "stride-align"
  std::string_view unit; // "bytes"; may be empty
  MergeRule rule;
  std::uint8_t types;  // bit mask by BufferType: buffers that have the key
  std::uint64_t least; // smallest value that makes sense
  std::uint64_t most;  // the minimum of a range, or a number, may not be more
};
const ConstraintKeyFacts &constraint_key_facts(ConstraintKey key) noexcept;
std::span<const ConstraintKeyFacts> constraint_keys() noexcept;

enum class TensorElement : std::uint8_t { Uint8, Int8, Float32 };
inline constexpr std::size_t kMaxTensorDims = 8;

// Flags of CpuAccess and Permissions.
inline constexpr std::uint64_t kAccessRead = 1;
inline constexpr std::uint64_t kAccessWrite = 2;

// Kinds of memory, as flags. Device memory is that of the accessor's own device.
inline constexpr std::uint32_t kPlaceSystem = 1;
inline constexpr std::uint32_t kPlaceContiguous = 2;
// The dma-heaps of memory without gaps, of CMA areas, have one of these names
// (Documentation/userspace-api/dma-buf-heaps.rst).
inline constexpr std::array kContiguousHeaps = {"default_cma_region", "reserved", "linux,cma",
                                                "default-pool"};
inline constexpr std::uint32_t kPlaceDevice = 4;
inline constexpr std::uint32_t kPlaceAll = 7;

// Where a buffer may lie: any of the kinds, or any of the heaps (names in /dev/dma_heap).
struct Placement {
  std::uint32_t kinds = 0;
  std::vector<std::string> heaps; // sorted, each once
  [[nodiscard]] bool empty() const noexcept { return kinds == 0 && heaps.empty(); }
  friend bool operator==(const Placement &, const Placement &) = default;
};

// A range, ends included; a plain number has both ends equal.
struct Bounds {
  std::uint64_t min = 0;
  std::uint64_t max = UINT64_MAX;
  [[nodiscard]] bool contains(std::uint64_t value) const noexcept
  {
    return min <= value && value <= max;
  }
  friend bool operator==(const Bounds &, const Bounds &) = default;
};

// A plain value. A key that is not set asks for nothing. Values are not checked when they are set,
// but by reconcile(), which can name the accessor of an invalid one. Not thread-safe while it is
// changed.
struct Constraints {
  std::string name;   // of the accessor, for messages: "sink0 (kmsdmabufsink)"
  std::string device; // what it uses the buffer with: "/dev/dri/card0"; may be empty
  std::array<std::optional<Bounds>, kConstraintKeys> numbers{};
  std::optional<FormatSet> formats; // none: any format
  std::optional<Placement> placement;
  std::optional<std::vector<std::uint64_t>> dims;

  // false: the key holds no number, or no range where `min` and `max` differ
  bool set(ConstraintKey key, std::uint64_t min, std::uint64_t max);
  bool set(ConstraintKey key, std::uint64_t value) { return set(key, value, value); }
  [[nodiscard]] const std::optional<Bounds> &number(ConstraintKey key) const noexcept
  {
    return numbers[static_cast<std::size_t>(key)];
  }
  [[nodiscard]] bool has(ConstraintKey key) const noexcept;
  // Sorts the heaps.
  void set_placement(std::uint32_t kinds, std::vector<std::string> heaps);
  friend bool operator==(const Constraints &, const Constraints &) = default;
};

// "64 bytes", "1 to 4096 pixels", "read and write", "system, heap cma"; "any" where it is not set.
// Lists that are longer than `limit` bytes end with "…".
std::string describe_value(const Constraints &constraints, ConstraintKey key,
                           std::size_t limit = SIZE_MAX);
// "sink0 (kmsdmabufsink) on /dev/dri/card0"; "an accessor without a name".
std::string describe_accessor(const Constraints &constraints);
std::string describe_number(ConstraintKey key, std::uint64_t value);
// Whether the value of one accessor makes sense by itself. `why` gets the reason where it does not.
bool has_sensible_value(const Constraints &constraints, ConstraintKey key,
                        std::string *why = nullptr);
std::string describe_kinds(std::uint32_t kinds);

} // namespace gstdrm
