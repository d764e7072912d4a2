// SPDX-License-Identifier: LGPL-2.1-or-later
#include "constraints.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "limits.hpp"

namespace gstdrm {

namespace {

using Key = ConstraintKey;
using Rule = MergeRule;

constexpr std::uint8_t bit(BufferType type) noexcept
{
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(type));
}

constexpr std::uint8_t kImages = bit(BufferType::Image) | bit(BufferType::Pyramid);
constexpr std::uint8_t kTensors = bit(BufferType::Tensor);
constexpr std::uint8_t kArrays = bit(BufferType::Array);
constexpr std::uint8_t kPyramids = bit(BufferType::Pyramid);
constexpr std::uint8_t kAll = 0x1f;
// Buffers with rows: images, tensors and arrays.
constexpr std::uint8_t kStrided = kImages | kTensors | kArrays;

constexpr std::uint64_t kMost32 = UINT32_MAX;                // drm_mode_fb_cmd2: 32-bit strides
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 47; // user space of x86_64 and arm64
constexpr std::uint64_t kMostAlign = std::uint64_t{1} << 31; // what a 32-bit stride can have
constexpr std::uint64_t kMostBuffers = 1U << 16;
constexpr std::uint64_t kMostLevels = 15;    // 16384 pixels halved to 1
constexpr std::uint64_t kMostScale = 0xffff; // below 1.0 in 16.16
constexpr std::uint64_t kAccessAll = kAccessRead | kAccessWrite;

constexpr std::array<ConstraintKeyFacts, kConstraintKeys> kFacts = {{
    {Key::BufferType, "buffer-type", "", Rule::Equal, kAll, 0, kBufferTypes - 1},
    {Key::Formats, "formats", "", Rule::Formats, kImages, 0, 0},
    {Key::Width, "width", "pixels", Rule::Range, kImages, 1, kMaxFrameSize},
    {Key::Height, "height", "pixels", Rule::Range, kImages, 1, kMaxFrameSize},
    {Key::Stride, "stride", "bytes", Rule::Range, kImages, 1, kMost32},
    {Key::Size, "size", "bytes", Rule::Range, kAll, 1, kMostBytes},
    {Key::StrideAlign, "stride-align", "bytes", Rule::Align, kStrided, 0, kMostAlign},
    {Key::OffsetAlign, "offset-align", "bytes", Rule::Align, kImages, 0, kMostAlign},
    {Key::SizeAlign, "size-align", "bytes", Rule::Align, kAll, 0, kMostAlign},
    {Key::BaseAlign, "base-align", "bytes", Rule::Align, kAll, 0, kMostAlign},
    {Key::Planes, "planes", "", Rule::Range, kImages, 1, kMaxPlanes},
    {Key::Fds, "fds", "", Rule::Range, kAll, 1, kMaxPlanes},
    {Key::Placement, "placement", "", Rule::Placement, kAll, 0, kPlaceAll},
    {Key::CpuAccess, "cpu-access", "", Rule::Flags, kAll, 0, kAccessAll},
    {Key::Permissions, "permissions", "", Rule::Flags, kAll, 0, kAccessAll},
    {Key::BuffersHeld, "buffers-held", "", Rule::Sum, kAll, 0, kMostBuffers},
    {Key::Buffers, "buffers", "", Rule::Range, kAll, 1, kMostBuffers},
    {Key::TensorType, "tensor-type", "", Rule::Equal, kTensors, 0, 2},
    {Key::TensorDims, "tensor-dims", "", Rule::Dims, kTensors, 1, kMost32},
    {Key::ArrayElement, "array-element", "bytes", Rule::Equal, kArrays, 1, kMost32},
    {Key::ArrayCapacity, "array-capacity", "elements", Rule::Equal, kArrays, 1, kMost32},
    {Key::PyramidLevels, "pyramid-levels", "", Rule::Equal, kPyramids, 1, kMostLevels},
    {Key::PyramidScale, "pyramid-scale", "of 65536", Rule::Equal, kPyramids, 1, kMostScale},
}};

constexpr std::array<std::string_view, kBufferTypes> kTypeNames = {"image", "raw", "tensor",
                                                                   "array", "pyramid"};
constexpr std::array<std::string_view, 3> kElementNames = {"uint8", "int8", "float32"};

template <std::size_t N>
std::string name_of(const std::array<std::string_view, N> &names, std::uint64_t value)
{
  return value < N ? std::string(names[value]) : "unknown (" + std::to_string(value) + ")";
}

std::string describe_access(std::uint64_t flags)
{
  constexpr std::array<std::string_view, 4> kNames = {"none", "read", "write", "read and write"};
  return name_of(kNames, flags);
}

// Appends one part to the text, or "…" where the text would become longer than `limit` bytes.
bool append(std::string &text, const std::string &part, std::string_view separator,
            std::size_t limit)
{
  if (text.size() + separator.size() + part.size() > limit && !text.empty()) {
    text += separator;
    text += "…";
    return false;
  }
  text += text.empty() ? "" : separator;
  text += part;
  return true;
}

std::string describe_formats(const FormatSet &formats, std::size_t limit)
{
  std::string text;
  for (const Format &format : formats.pairs())
    if (!append(text, describe_format(format), ", ", limit))
      break;
  return text.empty() ? "none" : text;
}

std::string describe_placement(const Placement &placement, std::size_t limit)
{
  std::string text = placement.kinds != 0 ? describe_kinds(placement.kinds) : "";
  for (const std::string &heap : placement.heaps)
    if (!append(text, "heap " + heap, ", ", limit))
      break;
  return text.empty() ? "none" : text;
}

std::string describe_dims(const std::vector<std::uint64_t> &dims, std::size_t limit)
{
  std::string text;
  for (const std::uint64_t dim : dims)
    if (!append(text, std::to_string(dim), "x", limit))
      break;
  return text.empty() ? "none" : text;
}

std::string describe_bounds(Key key, const Bounds &bounds)
{
  if (bounds.min == bounds.max)
    return describe_number(key, bounds.min);
  if (bounds.min == 0 && bounds.max == UINT64_MAX)
    return "any";
  if (bounds.max == UINT64_MAX)
    return describe_number(key, bounds.min) + " or more";
  if (bounds.min <= 1)
    return describe_number(key, bounds.max) + " or less";
  return std::to_string(bounds.min) + " to " + describe_number(key, bounds.max);
}

} // namespace

std::span<const ConstraintKeyFacts> constraint_keys() noexcept
{
  return kFacts;
}

const ConstraintKeyFacts &constraint_key_facts(ConstraintKey key) noexcept
{
  return kFacts[static_cast<std::size_t>(key)];
}

bool Constraints::set(ConstraintKey key, std::uint64_t min, std::uint64_t max)
{
  const Rule rule = constraint_key_facts(key).rule;
  if (rule == Rule::Formats || rule == Rule::Placement || rule == Rule::Dims)
    return false;
  if (rule != Rule::Range && min != max)
    return false;
  numbers[static_cast<std::size_t>(key)] = Bounds{min, max};
  return true;
}

bool Constraints::has(ConstraintKey key) const noexcept
{
  switch (key) {
  case Key::Formats:
    return formats.has_value();
  case Key::Placement:
    return placement.has_value();
  case Key::TensorDims:
    return dims.has_value();
  default:
    return number(key).has_value();
  }
}

void Constraints::set_placement(std::uint32_t kinds, std::vector<std::string> heaps)
{
  std::sort(heaps.begin(), heaps.end());
  heaps.erase(std::unique(heaps.begin(), heaps.end()), heaps.end());
  placement = Placement{kinds, std::move(heaps)};
}

std::string describe_number(ConstraintKey key, std::uint64_t value)
{
  const ConstraintKeyFacts &facts = constraint_key_facts(key);
  if (key == Key::BufferType)
    return name_of(kTypeNames, value);
  if (key == Key::TensorType)
    return name_of(kElementNames, value);
  if (facts.rule == Rule::Flags)
    return describe_access(value);
  return std::to_string(value) + (facts.unit.empty() ? "" : " ") + std::string(facts.unit);
}

std::string describe_kinds(std::uint32_t kinds)
{
  std::string text;
  const auto add = [&](std::uint32_t kind, const char *name) {
    if ((kinds & kind) != 0)
      (void)append(text, name, ", ", SIZE_MAX);
  };
  add(kPlaceSystem, "system");
  add(kPlaceContiguous, "contiguous");
  add(kPlaceDevice, "device");
  return text.empty() ? "none" : text;
}

namespace {

std::string number_fault(const ConstraintKeyFacts &facts, const Bounds &value)
{
  if (value.min > value.max)
    return "a range that ends before it begins";
  if (value.max < facts.least)
    return describe_number(facts.key, value.max) + " is less than " +
           describe_number(facts.key, facts.least);
  if (value.min > facts.most)
    return describe_number(facts.key, value.min) + " is more than " +
           describe_number(facts.key, facts.most);
  if (facts.rule == Rule::Align && value.min != 0 && !std::has_single_bit(value.min))
    return std::to_string(value.min) + " is not a power of two";
  return {};
}

std::string placement_fault(const Placement &placement)
{
  if (placement.empty())
    return "an accessor takes no memory at all";
  if ((placement.kinds & ~kPlaceAll) != 0)
    return "a kind of memory that is not known";
  // of a file in /dev/dma_heap
  for (const std::string &heap : placement.heaps)
    if (heap.empty() || heap == "." || heap == ".." || heap.find('/') != std::string::npos)
      return "\"" + heap + "\" is no name of a heap";
  return {};
}

std::string dims_fault(const std::vector<std::uint64_t> &dims)
{
  const auto is_bad = [](std::uint64_t dim) { return dim == 0 || dim > kMost32; };
  if (dims.empty() || dims.size() > kMaxTensorDims || std::any_of(dims.begin(), dims.end(), is_bad))
    return "a tensor has 1 to " + std::to_string(kMaxTensorDims) + " dimensions of 1 to " +
           std::to_string(kMost32) + " elements";
  return {};
}

std::string value_fault(const Constraints &constraints, Key key)
{
  switch (key) {
  case Key::Formats:
    return constraints.formats->empty() ? "a list without formats" : "";
  case Key::Placement:
    return placement_fault(*constraints.placement);
  case Key::TensorDims:
    return dims_fault(*constraints.dims);
  default:
    return number_fault(constraint_key_facts(key), *constraints.number(key));
  }
}

} // namespace

bool has_sensible_value(const Constraints &constraints, ConstraintKey key, std::string *why)
{
  if (!constraints.has(key))
    return true;
  std::string fault = value_fault(constraints, key);
  const bool sensible = fault.empty();
  if (why)
    *why = std::move(fault);
  return sensible;
}

std::string describe_value(const Constraints &constraints, ConstraintKey key, std::size_t limit)
{
  if (!constraints.has(key))
    return "any";
  switch (key) {
  case Key::Formats:
    return describe_formats(*constraints.formats, limit);
  case Key::Placement:
    return describe_placement(*constraints.placement, limit);
  case Key::TensorDims:
    return describe_dims(*constraints.dims, limit);
  default:
    return describe_bounds(key, *constraints.number(key));
  }
}

std::string describe_accessor(const Constraints &constraints)
{
  std::string text = constraints.name.empty() ? "an accessor without a name" : constraints.name;
  if (!constraints.device.empty())
    text += " on " + constraints.device;
  return text;
}

} // namespace gstdrm
