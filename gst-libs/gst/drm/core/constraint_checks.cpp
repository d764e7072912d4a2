// SPDX-License-Identifier: LGPL-2.1-or-later
// The part of a reconciliation that looks at several keys together. Every check is made whose keys
// have not failed by themselves, so that a conflict is complete.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "fourcc_cursor.hpp"
#include "frame_layout.hpp"
#include "reconcile.hpp"

namespace gstdrm {

namespace {

using Key = ConstraintKey;
using Reason = ConflictReason;

class Checks {
public:
  Checks(std::span<const Constraints *const> accessors, Constraints &merged,
         std::vector<KeyConflict> &failures)
      : accessors_(accessors), merged_(merged), failures_(failures)
  {
  }
  void check_pool();
  void filter_planes();
  void check_fds();
  void check_multiples();
  std::optional<BufferLayout> lay_out_as(BufferType type);

private:
  [[nodiscard]] bool is_sound(std::initializer_list<Key> keys) const;
  void fail(Key key, Reason reason, std::string why, std::uint64_t needed)
  {
    failures_.push_back({key, reason, std::move(why), needed, {}});
  }
  [[nodiscard]] Bounds bounds(Key key) const { return merged_.number(key).value_or(Bounds{}); }

  std::span<const Constraints *const> accessors_;
  Constraints &merged_;
  std::vector<KeyConflict> &failures_;
};

bool Checks::is_sound(std::initializer_list<Key> keys) const
{
  return std::none_of(failures_.begin(), failures_.end(), [&](const KeyConflict &failure) {
    return std::find(keys.begin(), keys.end(), failure.key) != keys.end();
  });
}

// Names who holds most, as the values of the key that fails do not.
void Checks::check_pool()
{
  const auto held_by = [](const Constraints *one) {
    const auto &held = one->number(Key::BuffersHeld);
    return held ? held->min : 0;
  };
  const std::uint64_t held = merged_.number(Key::BuffersHeld) ? bounds(Key::BuffersHeld).min : 0;
  const Bounds pool = bounds(Key::Buffers);
  if (!is_sound({Key::BuffersHeld, Key::Buffers}) || held <= pool.max)
    return;
  const Constraints *most = *std::max_element(
      accessors_.begin(), accessors_.end(),
      [&](const Constraints *a, const Constraints *b) { return held_by(a) < held_by(b); });
  fail(Key::Buffers, Reason::Exceeds,
       "the accessors hold " + std::to_string(held) + " at a time (" + describe_accessor(*most) +
           " " + std::to_string(held_by(most)) + "), and a pool may have " +
           std::to_string(pool.max),
       held);
}

// A plane lies in one dma-buf: formats with fewer planes than descriptors are taken out.
void Checks::check_fds()
{
  if (!merged_.number(Key::Fds) || !is_sound({Key::Fds, Key::Planes, Key::Formats}))
    return;
  const std::uint64_t least = bounds(Key::Fds).min;
  std::uint64_t planes = std::min<std::uint64_t>(bounds(Key::Planes).max, kMaxPlanes);
  std::vector<Format> taken_out;
  if (merged_.formats) {
    unsigned most = 0;
    FourccCursor cursor;
    for (const Format &format : merged_.formats->pairs()) {
      const unsigned known = memory_plane_count(format, cursor.find(format.fourcc));
      const unsigned n = known == 0 ? unsigned{kMaxPlanes} : known;
      most = std::max(most, n);
      if (n < least)
        taken_out.push_back(format);
    }
    planes = std::min<std::uint64_t>(planes, most);
  }
  if (least > planes)
    fail(Key::Fds, Reason::Exceeds,
         "a frame has at most " + std::to_string(planes) + " planes, so not " +
             std::to_string(least) + " descriptors",
         planes);
  else if (!taken_out.empty())
    merged_.formats =
        FormatSet::subtract(*merged_.formats, FormatSet::from_pairs(std::move(taken_out)));
}

// Whether a range has a multiple of an alignment; where there is a layout, it says more.
void Checks::check_multiples()
{
  const auto check = [this](Key key, Key align_key) {
    if (!merged_.number(key) || !is_sound({key, align_key}))
      return;
    const std::uint64_t align = merged_.number(align_key) ? bounds(align_key).min : 0;
    const Bounds range = bounds(key);
    if (align <= 1)
      return;
    const std::uint64_t first = (range.min + align - 1) & ~(align - 1); // min is below 2^47
    if (first > range.max)
      fail(key, Reason::Exceeds,
           "no value that is accepted is a multiple of " + std::to_string(align) + " bytes (" +
               std::string(constraint_key_facts(align_key).name) + ")",
           first);
  };
  const bool all_linear =
      !merged_.formats ||
      std::all_of(merged_.formats->pairs().begin(), merged_.formats->pairs().end(),
                  [](const Format &format) { return format.modifier == kModLinear; });
  if (all_linear) // a driver chooses the strides of other formats
    check(Key::Stride, Key::StrideAlign);
  check(Key::Size, Key::SizeAlign);
}

void Checks::filter_planes()
{
  if (!merged_.formats || !merged_.number(Key::Planes) || !is_sound({Key::Formats, Key::Planes}))
    return;
  const Bounds planes = bounds(Key::Planes);
  std::vector<Format> taken_out;
  unsigned least = 0;
  FourccCursor cursor;
  for (const Format &format : merged_.formats->pairs()) {
    const unsigned n = memory_plane_count(format, cursor.find(format.fourcc));
    if (n == 0 || planes.contains(n))
      continue;
    taken_out.push_back(format);
    if (least == 0 || n < least)
      least = n;
  }
  if (taken_out.empty())
    return;
  if (taken_out.size() == merged_.formats->size())
    fail(Key::Planes, Reason::Exceeds,
         "the formats in common have " + std::to_string(least) + " planes or more", least);
  else
    merged_.formats =
        FormatSet::subtract(*merged_.formats, FormatSet::from_pairs(std::move(taken_out)));
}

std::optional<BufferLayout> Checks::lay_out_as(BufferType type)
{
  if (!is_sound({Key::BufferType, Key::Formats, Key::Width, Key::Height, Key::Stride, Key::Size,
                 Key::StrideAlign, Key::OffsetAlign, Key::SizeAlign, Key::Planes, Key::TensorType,
                 Key::TensorDims, Key::ArrayElement, Key::ArrayCapacity, Key::PyramidLevels,
                 Key::PyramidScale}))
    return std::nullopt;
  LayoutOutcome outcome = lay_out(merged_, type);
  if (auto *failure = std::get_if<KeyConflict>(&outcome)) {
    failures_.push_back(std::move(*failure));
    return std::nullopt;
  }
  return std::move(std::get<0>(outcome));
}

} // namespace

std::optional<BufferLayout> check_together(std::span<const Constraints *const> accessors,
                                           BufferType type, Constraints &merged,
                                           std::vector<KeyConflict> &failures)
{
  Checks checks(accessors, merged, failures);
  checks.check_pool();
  checks.filter_planes();
  checks.check_fds();
  checks.check_multiples();
  return checks.lay_out_as(type);
}

} // namespace gstdrm
