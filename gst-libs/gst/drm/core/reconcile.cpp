// SPDX-License-Identifier: LGPL-2.1-or-later
// Merges what the accessors of a buffer ask for, key by key, validates the result and computes what
// follows of it. Every key is looked at even after one has failed, so that a conflict is complete.
#include "reconcile.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>

namespace gstdrm {

namespace {

using Key = ConstraintKey;
using Rule = MergeRule;
using Reason = ConflictReason;

constexpr std::size_t index_of(Key key) noexcept
{
  return static_cast<std::size_t>(key);
}

bool has_number(Rule rule) noexcept
{
  return rule != Rule::Formats && rule != Rule::Placement && rule != Rule::Dims;
}

class Merger {
public:
  explicit Merger(std::span<const Constraints *const> accessors);
  Reconciliation run();

private:
  void merge_numbers(const ConstraintKeyFacts &facts);
  bool check_own(Key key);
  void merge_sum(Key key);
  void merge_formats();
  bool find_device();
  void merge_placement();
  void merge_dims();
  BufferType find_type();
  void check_required(BufferType type);
  HeapChoice choose_heap() const;

  void fail(Key key, Reason reason, std::string why, std::uint64_t needed = 0);
  [[nodiscard]] bool has_failed(Key key) const;
  Bounds bounds(Key key) const { return merged_.number(key).value_or(Bounds{}); }
  void put(Key key, Bounds value) { merged_.numbers[index_of(key)] = value; }

  std::vector<const Constraints *> accessors_; // each once
  Constraints merged_;
  Reconciled result_;
  std::vector<KeyConflict> failures_;
};

bool is_repeated(std::span<const Constraints *const> before, const Constraints &accessor)
{
  return std::any_of(before.begin(), before.end(), [&](const Constraints *other) {
    return other == &accessor || (!accessor.name.empty() && *other == accessor);
  });
}

Merger::Merger(std::span<const Constraints *const> accessors)
{
  accessors_.reserve(std::min(accessors.size(), kMaxAccessors + 1));
  for (const Constraints *accessor : accessors) {
    if (accessors_.size() > kMaxAccessors)
      break;
    if (!is_repeated(accessors_, *accessor))
      accessors_.push_back(accessor);
  }
}

void Merger::fail(Key key, Reason reason, std::string why, std::uint64_t needed)
{
  failures_.push_back({key, reason, std::move(why), needed, {}});
}

bool Merger::has_failed(Key key) const
{
  return std::any_of(failures_.begin(), failures_.end(),
                     [key](const KeyConflict &failure) { return failure.key == key; });
}

// Whether every accessor's own value makes sense.
bool Merger::check_own(Key key)
{
  std::string why;
  for (const Constraints *accessor : accessors_) {
    if (!has_sensible_value(*accessor, key, &why)) {
      fail(key, Reason::Invalid, std::move(why));
      return false;
    }
  }
  return true;
}

void Merger::merge_sum(Key key)
{
  std::uint64_t sum = 0; // at most kMaxAccessors times the limit of one
  bool any = false;
  for (const Constraints *accessor : accessors_) {
    if (const auto &value = accessor->number(key)) {
      sum += value->min;
      any = true;
    }
  }
  const ConstraintKeyFacts &facts = constraint_key_facts(key);
  if (sum > facts.most)
    fail(key, Reason::Exceeds,
         "together " + std::to_string(sum) + ", and a pool has at most " +
             std::to_string(facts.most));
  else if (any)
    put(key, {sum, sum});
}

void Merger::merge_numbers(const ConstraintKeyFacts &facts)
{
  const Key key = facts.key;
  if (!check_own(key))
    return;
  std::optional<Bounds> merged;
  for (const Constraints *accessor : accessors_) {
    const auto &value = accessor->number(key);
    if (!value)
      continue;
    if (!merged)
      merged = value;
    else if (facts.rule == Rule::Flags)
      merged = Bounds{merged->min | value->min, merged->min | value->min};
    else if (facts.rule == Rule::Align)
      merged = merged->min > value->min ? merged : value;
    else // equal numbers are ranges with something in common
      merged = Bounds{std::max(merged->min, value->min), std::min(merged->max, value->max)};
  }
  if (facts.rule == Rule::Sum)
    return merge_sum(key);
  if (!merged)
    return;
  if (merged->min > merged->max)
    return fail(key, facts.rule == Rule::Equal ? Reason::Unequal : Reason::Disjoint,
                facts.rule == Rule::Equal ? "the values have to be equal, and are not"
                                          : "the ranges have no value in common");
  put(key, *merged);
}

void Merger::merge_formats()
{
  if (!check_own(Key::Formats))
    return;
  for (const Constraints *accessor : accessors_) {
    const auto &formats = accessor->formats;
    if (!formats)
      continue;
    if (!merged_.formats)
      merged_.formats = formats;
    else if (!merged_.formats->is_subset_of(*formats)) // takes less than to make another set
      merged_.formats = FormatSet::intersect(*merged_.formats, *formats);
  }
  if (merged_.formats && merged_.formats->empty())
    fail(Key::Formats, Reason::Disjoint, "no format is in every list");
}

// Whether all accessors that can use device memory use that of one device. A device without a name
// may be any, so nobody shares its memory.
bool Merger::find_device()
{
  const std::string *device = nullptr;
  for (const Constraints *accessor : accessors_) {
    if (!accessor->placement || (accessor->placement->kinds & kPlaceDevice) == 0)
      continue;
    if (device && (device->empty() || *device != accessor->device))
      return false;
    device = &accessor->device;
  }
  if (device)
    merged_.device = *device;
  return true;
}

// Device memory is that of one device, and the CPU may be unable to map it: dma-buf exporters need
// no mmap (dma_buf_ops in include/linux/dma-buf.h).
void Merger::merge_placement()
{
  if (!check_own(Key::Placement))
    return;
  std::optional<Placement> merged;
  for (const Constraints *accessor : accessors_) {
    const auto &placement = accessor->placement;
    if (!placement)
      continue;
    if (!merged) {
      merged = placement;
      continue;
    }
    std::vector<std::string> heaps;
    std::set_intersection(merged->heaps.begin(), merged->heaps.end(), placement->heaps.begin(),
                          placement->heaps.end(), std::back_inserter(heaps));
    merged = Placement{merged->kinds & placement->kinds, std::move(heaps)};
  }
  if (!merged)
    return;
  if (!find_device())
    merged->kinds &= ~kPlaceDevice;
  if (merged->empty())
    return fail(Key::Placement, Reason::Disjoint, "no memory is one that every accessor takes");
  if (!has_failed(Key::CpuAccess) && bounds(Key::CpuAccess).min != 0)
    merged->kinds &= ~kPlaceDevice;
  if (merged->empty())
    return fail(Key::Placement, Reason::Exceeds,
                "the CPU needs access, and cannot rely on it in the memory of a device");
  if ((merged->kinds & kPlaceDevice) == 0)
    merged_.device.clear();
  merged_.placement = std::move(merged);
}

void Merger::merge_dims()
{
  if (!check_own(Key::TensorDims))
    return;
  for (const Constraints *accessor : accessors_) {
    const auto &dims = accessor->dims;
    if (!dims)
      continue;
    if (merged_.dims && *merged_.dims != *dims)
      return fail(Key::TensorDims, Reason::Unequal, "the dimensions have to be equal, and are not");
    merged_.dims = dims;
  }
}

// The type that was stated, or the first one that has all keys that are set. Keys of other types
// are failures.
BufferType Merger::find_type()
{
  std::uint8_t fitting = 0x1f;
  const auto is_set = [&](Key key) {
    return std::any_of(accessors_.begin(), accessors_.end(),
                       [key](const Constraints *accessor) { return accessor->has(key); });
  };
  const bool is_stated = is_set(Key::BufferType);
  if (is_stated) {
    if (has_failed(Key::BufferType))
      return BufferType::Image;
    fitting = static_cast<std::uint8_t>(1U << bounds(Key::BufferType).min);
  }
  for (const ConstraintKeyFacts &facts : constraint_keys()) {
    if (!is_set(facts.key))
      continue;
    if ((facts.types & fitting) != 0)
      fitting &= facts.types;
    else if (!has_failed(facts.key))
      fail(facts.key, Reason::WrongType,
           is_stated ? "a buffer of type " +
                           describe_number(Key::BufferType, bounds(Key::BufferType).min) +
                           " has no such key"
                     : "no type of buffer has this key beside the others that are set");
  }
  return static_cast<BufferType>(std::countr_zero(fitting));
}

void Merger::check_required(BufferType type)
{
  const auto require = [&](Key key) {
    if (!merged_.has(key) && !has_failed(key))
      fail(key, Reason::Missing, "a buffer of this type needs it, and no accessor states it");
  };
  switch (type) {
  case BufferType::Image: // no key is required
    break;
  case BufferType::Raw:
    if (bounds(Key::Size).min == 0 && !has_failed(Key::Size))
      fail(Key::Size, Reason::Missing, "raw memory needs a least size, and no accessor states it");
    break;
  case BufferType::Tensor:
    require(Key::TensorType);
    require(Key::TensorDims);
    break;
  case BufferType::Array:
    require(Key::ArrayElement);
    require(Key::ArrayCapacity);
    break;
  case BufferType::Pyramid:
    require(Key::PyramidLevels);
    require(Key::PyramidScale);
    break;
  }
}

HeapChoice Merger::choose_heap() const
{
  const auto &placement = merged_.placement;
  if (!placement || (placement->kinds & kPlaceSystem) != 0)
    return {kPlaceSystem, ""};
  if ((placement->kinds & kPlaceContiguous) != 0)
    return {kPlaceContiguous, ""};
  if ((placement->kinds & kPlaceDevice) != 0)
    return {kPlaceDevice, merged_.device};
  return {0, placement->heaps.front()};
}

Reconciliation Merger::run()
{
  if (accessors_.size() > kMaxAccessors) {
    fail(Key::BuffersHeld, Reason::Exceeds,
         "more than " + std::to_string(kMaxAccessors) + " accessors share the buffer");
  } else {
    for (const ConstraintKeyFacts &facts : constraint_keys())
      if (has_number(facts.rule))
        merge_numbers(facts);
    merge_formats();
    merge_placement();
    merge_dims();
    const BufferType type = find_type();
    check_required(type);
    result_.type = type;
    result_.layout = check_together(accessors_, type, merged_, failures_);
  }
  if (failures_.empty()) {
    result_.heap = choose_heap();
    result_.merged = std::move(merged_);
    return std::move(result_);
  }
  // no key fails twice
  std::sort(failures_.begin(), failures_.end(),
            [](const KeyConflict &a, const KeyConflict &b) { return a.key < b.key; });
  Conflict conflict;
  conflict.accessors.reserve(accessors_.size());
  for (const Constraints *accessor : accessors_)
    conflict.accessors.push_back(*accessor);
  conflict.failures = std::move(failures_);
  suggest_changes(conflict);
  return conflict;
}

} // namespace

Reconciliation reconcile(std::span<const Constraints *const> accessors)
{
  return Merger(accessors).run();
}

} // namespace gstdrm
