// SPDX-License-Identifier: LGPL-2.1-or-later
// The smallest change that makes a key fit: the value that most accessors take already, and the
// others that would have to take it.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "reconcile.hpp"

namespace gstdrm {

namespace {

using Key = ConstraintKey;
using Rule = MergeRule;
using Reason = ConflictReason;
using What = Change::What;

Change make_change(std::size_t accessor, Key key, What what, std::uint64_t number = 0)
{
  Change change;
  change.accessor = accessor;
  change.key = key;
  change.what = what;
  change.number = number;
  return change;
}

void accept_number(const Conflict &conflict, Failure &failure, std::uint64_t number)
{
  for (std::size_t i = 0; i < conflict.accessors.size(); ++i) {
    const auto &value = conflict.accessors[i].number(failure.key);
    if (value && !value->contains(number))
      failure.changes.push_back(make_change(
          i, failure.key,
          constraint_key_facts(failure.key).rule == Rule::Equal ? What::Replace : What::Include,
          number));
  }
}

// How much the ranges together have to grow to take the number; a double does not overflow.
double growth(const Conflict &conflict, Key key, std::uint64_t number)
{
  double sum = 0;
  for (const Constraints &one : conflict.accessors) {
    const auto &value = one.number(key);
    if (value && !value->contains(number))
      sum += static_cast<double>(number < value->min ? value->min - number : number - value->max);
  }
  return sum;
}

// The end of a range that is in most of the ranges, and of those the nearest to the others.
void accept_most_common_number(const Conflict &conflict, Failure &failure)
{
  const Key key = failure.key;
  std::uint64_t best = 0;
  std::ptrdiff_t most = 0;
  for (const Constraints &one : conflict.accessors) {
    const auto &value = one.number(key);
    if (!value)
      continue;
    for (const std::uint64_t end : {value->min, value->max}) {
      const auto votes = std::count_if(
          conflict.accessors.begin(), conflict.accessors.end(), [&](const Constraints &other) {
            return other.number(key) && other.number(key)->contains(end);
          });
      if (votes < most ||
          (votes == most && growth(conflict, key, end) >= growth(conflict, key, best)))
        continue;
      most = votes;
      best = end;
    }
  }
  accept_number(conflict, failure, best);
}

// One pass over all lists, which are sorted: no memory, and no more steps than they have pairs for
// each accessor.
void accept_most_common_format(const Conflict &conflict, Failure &failure)
{
  std::vector<std::span<const Format>> rest;
  for (const Constraints &one : conflict.accessors)
    rest.push_back(one.formats ? one.formats->pairs() : std::span<const Format>());
  std::optional<Format> best;
  std::size_t most = 0;
  for (;;) {
    std::optional<Format> least;
    for (const auto &list : rest)
      if (!list.empty() && (!least || list.front() < *least))
        least = list.front();
    if (!least)
      break;
    std::size_t votes = 0;
    for (auto &list : rest) {
      if (list.empty() || list.front() != *least)
        continue;
      ++votes;
      list = list.subspan(1);
    }
    const bool is_simpler = best && votes == most && least->modifier == kModLinear &&
                            best->modifier != kModLinear; // linear is easiest to add
    if (votes > most || is_simpler) {
      most = votes;
      best = least;
    }
  }
  for (std::size_t i = 0; best && i < conflict.accessors.size(); ++i) {
    const auto &formats = conflict.accessors[i].formats;
    if (!formats || formats->contains(*best))
      continue;
    Change change = make_change(i, Key::Formats, What::Include);
    change.format = *best;
    failure.changes.push_back(std::move(change));
  }
}

bool takes(const Placement &placement, std::uint32_t kind, const std::string &heap)
{
  return heap.empty() ? (placement.kinds & kind) != 0
                      : std::binary_search(placement.heaps.begin(), placement.heaps.end(), heap);
}

// Suggests the kind of memory or the heap that most accessors take. Device memory is not suggested,
// because another device may be unable to reach it.
void accept_most_common_memory(const Conflict &conflict, Failure &failure)
{
  std::uint32_t best_kind = kPlaceSystem;
  std::string best_heap;
  std::size_t most = 0;
  std::map<std::string_view, std::size_t> heap_votes;
  std::map<std::uint32_t, std::size_t> kind_votes;
  for (const Constraints &one : conflict.accessors) {
    if (!one.placement)
      continue;
    for (const std::uint32_t kind : {kPlaceSystem, kPlaceContiguous})
      kind_votes[kind] += (one.placement->kinds & kind) != 0 ? 1 : 0;
    for (const std::string &heap : one.placement->heaps)
      ++heap_votes[heap];
  }
  for (const auto &[kind, votes] : kind_votes) {
    if (votes > most) {
      most = votes;
      best_kind = kind;
    }
  }
  for (const auto &[heap, votes] : heap_votes) {
    if (votes > most) {
      most = votes;
      best_kind = 0;
      best_heap = heap;
    }
  }
  for (std::size_t i = 0; i < conflict.accessors.size(); ++i) {
    const auto &placement = conflict.accessors[i].placement;
    if (!placement || takes(*placement, best_kind, best_heap))
      continue;
    Change change = make_change(i, Key::Placement, What::Include, best_kind);
    change.heap = best_heap;
    failure.changes.push_back(std::move(change));
  }
}

void take_most_common_dims(const Conflict &conflict, Failure &failure)
{
  const std::vector<std::uint64_t> *best = nullptr;
  std::ptrdiff_t most = 0;
  for (const Constraints &one : conflict.accessors) {
    if (!one.dims)
      continue;
    const auto votes =
        std::count_if(conflict.accessors.begin(), conflict.accessors.end(),
                      [&](const Constraints &other) { return other.dims == one.dims; });
    if (votes > most) {
      most = votes;
      best = &*one.dims;
    }
  }
  for (std::size_t i = 0; best && i < conflict.accessors.size(); ++i) {
    const auto &dims = conflict.accessors[i].dims;
    if (!dims || *dims == *best)
      continue;
    Change change = make_change(i, Key::TensorDims, What::Replace);
    change.dims = *best;
    failure.changes.push_back(std::move(change));
  }
}

// Replaces each invalid number by the nearest valid one, and removes an invalid range or list.
void mend_own_values(const Conflict &conflict, Failure &failure)
{
  const ConstraintKeyFacts &facts = constraint_key_facts(failure.key);
  for (std::size_t i = 0; i < conflict.accessors.size(); ++i) {
    const Constraints &one = conflict.accessors[i];
    if (!one.has(failure.key))
      continue;
    if (failure.key == Key::Formats || failure.key == Key::Placement ||
        failure.key == Key::TensorDims || facts.rule == Rule::Range) {
      if (!has_sensible_value(one, failure.key))
        failure.changes.push_back(make_change(i, failure.key, What::Remove));
      continue;
    }
    const std::uint64_t value = one.number(failure.key)->min;
    std::uint64_t better = std::clamp(value, facts.least, facts.most);
    if (facts.rule == Rule::Align && better != 0)
      better = std::bit_ceil(better);
    if (better != value)
      failure.changes.push_back(make_change(i, failure.key, What::Replace, better));
  }
}

void remove_key(const Conflict &conflict, Failure &failure)
{
  for (std::size_t i = 0; i < conflict.accessors.size(); ++i)
    if (conflict.accessors[i].has(failure.key))
      failure.changes.push_back(make_change(i, failure.key, What::Remove));
}

std::uint64_t held_by(const Constraints &one)
{
  const auto &value = one.number(Key::BuffersHeld);
  return value ? value->min : 0;
}

// Asks those that hold most buffers to hold less, until all together hold `limit`.
void hold_less(const Conflict &conflict, Failure &failure, std::uint64_t limit)
{
  std::vector<std::size_t> order(conflict.accessors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return held_by(conflict.accessors[a]) > held_by(conflict.accessors[b]);
  });
  std::uint64_t sum = 0;
  for (const Constraints &one : conflict.accessors)
    sum += held_by(one);
  for (const std::size_t i : order) {
    const std::uint64_t held = held_by(conflict.accessors[i]);
    if (sum <= limit || held <= 1)
      return;
    const std::uint64_t less = sum - limit < held ? held - (sum - limit) : 1;
    failure.changes.push_back(make_change(i, Key::BuffersHeld, What::Replace, less));
    sum -= held - less;
  }
}

// A larger pool, or where one accessor alone holds more than that pool, fewer buffers held.
void fit_pool(const Conflict &conflict, Failure &failure)
{
  std::uint64_t most = UINT64_MAX; // buffers of a pool
  std::uint64_t held = 0;          // by one accessor
  for (const Constraints &one : conflict.accessors) {
    if (const auto &pool = one.number(Key::Buffers))
      most = std::min(most, pool->max);
    held = std::max(held, held_by(one));
  }
  if (held > most)
    hold_less(conflict, failure, most);
  else
    accept_number(conflict, failure, failure.needed);
}

void suggest_common_value(const Conflict &conflict, Failure &failure)
{
  switch (constraint_key_facts(failure.key).rule) {
  case Rule::Formats:
    return accept_most_common_format(conflict, failure);
  case Rule::Placement:
    return accept_most_common_memory(conflict, failure);
  case Rule::Dims:
    return take_most_common_dims(conflict, failure);
  default:
    return accept_most_common_number(conflict, failure);
  }
}

void suggest(const Conflict &conflict, Failure &failure)
{
  switch (failure.reason) {
  case Reason::Invalid:
    return mend_own_values(conflict, failure);
  case Reason::WrongType:
    return remove_key(conflict, failure);
  case Reason::Missing:
    if (!conflict.accessors.empty())
      failure.changes.push_back(make_change(0, failure.key, What::State));
    return;
  case Reason::Disjoint:
  case Reason::Unequal:
    return suggest_common_value(conflict, failure);
  case Reason::Exceeds:
    if (failure.key == Key::BuffersHeld) // no value helps too many accessors
      return conflict.accessors.size() > kMaxAccessors
                 ? void()
                 : hold_less(conflict, failure, constraint_key_facts(failure.key).most);
    if (failure.key == Key::Buffers)
      return fit_pool(conflict, failure);
    if (failure.key == Key::Placement)
      return accept_most_common_memory(conflict, failure);
    if (failure.needed != 0)
      accept_number(conflict, failure, failure.needed);
    return;
  }
}

} // namespace

void suggest_changes(Conflict &conflict)
{
  for (Failure &failure : conflict.failures)
    suggest(conflict, failure);
}

void apply_change(Constraints &constraints, const Change &change)
{
  auto &number = constraints.numbers[static_cast<std::size_t>(change.key)];
  const bool removes = change.what == What::Remove;
  switch (constraint_key_facts(change.key).rule) {
  case Rule::Formats:
    if (removes)
      constraints.formats.reset();
    else if (constraints.formats)
      (void)constraints.formats->add(change.format);
    return;
  case Rule::Placement:
    if (removes) {
      constraints.placement.reset();
    } else if (constraints.placement) {
      std::vector<std::string> heaps = constraints.placement->heaps;
      if (!change.heap.empty())
        heaps.push_back(change.heap);
      constraints.set_placement(constraints.placement->kinds |
                                    static_cast<std::uint32_t>(change.number),
                                std::move(heaps));
    }
    return;
  case Rule::Dims:
    if (removes)
      constraints.dims.reset();
    else
      constraints.dims = change.what == What::State ? std::vector<std::uint64_t>{1} : change.dims;
    return;
  default:
    break;
  }
  if (removes)
    number.reset();
  else if (change.what == What::State)
    number = Bounds{1, 1};
  else if (change.what == What::Include && number)
    number = Bounds{std::min(number->min, change.number), std::max(number->max, change.number)};
  else
    number = Bounds{change.number, change.number};
}

} // namespace gstdrm
