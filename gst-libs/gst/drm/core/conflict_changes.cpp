// SPDX-License-Identifier: LGPL-2.1-or-later
// The smallest change that makes a key fit: the value that the fewest accessors would have to be
// changed for, and those accessors.
#include <algorithm>
#include <bit>
#include <numeric>
#include <set>
#include <utility>

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

// Whether an accessor already takes the value of a change.
bool takes(const Constraints &one, const Change &value)
{
  if (!one.has(value.key))
    return true;
  switch (constraint_key_facts(value.key).rule) {
  case Rule::Formats:
    return one.formats->contains(value.format);
  case Rule::Placement: {
    const std::vector<std::string> &heaps = one.placement->heaps;
    return value.heap.empty() ? (one.placement->kinds & value.number) != 0
                              : std::binary_search(heaps.begin(), heaps.end(), value.heap);
  }
  case Rule::Dims:
    return *one.dims == value.dims;
  default:
    return one.number(value.key)->contains(value.number);
  }
}

void let_all_take(const Conflict &conflict, KeyConflict &failure, const Change &value)
{
  for (std::size_t i = 0; i < conflict.accessors.size(); ++i) {
    if (takes(conflict.accessors[i], value))
      continue;
    failure.changes.push_back(value);
    failure.changes.back().accessor = i;
  }
}

What what_to_do(Key key)
{
  const Rule rule = constraint_key_facts(key).rule;
  return rule == Rule::Equal || rule == Rule::Dims ? What::Replace : What::Include;
}

void let_all_take_number(const Conflict &conflict, KeyConflict &failure, std::uint64_t number)
{
  let_all_take(conflict, failure, make_change(0, failure.key, what_to_do(failure.key), number));
}

// The format in most lists, a linear one if several are in as many: it is easiest to add. nullopt
// if all lists are empty. One pass over all lists, which are sorted: no memory, and no more steps
// than they have pairs for each accessor.
std::optional<Format> most_common_format(const Conflict &conflict)
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
      return best;
    std::size_t lists = 0;
    for (auto &list : rest) {
      if (list.empty() || list.front() != *least)
        continue;
      ++lists;
      list = list.subspan(1);
    }
    if (lists > most ||
        (lists == most && least->modifier == kModLinear && best->modifier != kModLinear)) {
      most = lists;
      best = least;
    }
  }
}

// The values that all accessors may be asked to take: those that some of them take already. Device
// memory is none of them, because another device may be unable to reach it.
std::vector<Change> values_of_accessors(const Conflict &conflict, Key key)
{
  std::vector<Change> values;
  const auto add = [&](std::uint64_t number) -> Change & {
    return values.emplace_back(make_change(0, key, what_to_do(key), number));
  };
  if (key == Key::Formats) {
    if (const std::optional<Format> format = most_common_format(conflict))
      add(0).format = *format;
    return values;
  }
  std::set<std::string> heaps;
  for (const Constraints &one : conflict.accessors) {
    if (!one.has(key))
      continue;
    if (key == Key::Placement)
      heaps.insert(one.placement->heaps.begin(), one.placement->heaps.end());
    else if (key == Key::TensorDims)
      add(0).dims = *one.dims;
    else
      for (const std::uint64_t end : {one.number(key)->min, one.number(key)->max})
        add(end);
  }
  if (key == Key::Placement)
    for (const std::uint32_t kind : {kPlaceSystem, kPlaceContiguous})
      add(kind);
  for (const std::string &heap : heaps)
    add(0).heap = heap;
  return values;
}

// What a value costs: how many accessors have to change, then how far their ranges have to grow (a
// double does not overflow).
std::pair<std::size_t, double> cost_of(const Conflict &conflict, const Change &value)
{
  std::size_t changes = 0;
  double growth = 0;
  for (const Constraints &one : conflict.accessors) {
    if (takes(one, value))
      continue;
    ++changes;
    if (const auto &range = one.number(value.key))
      growth += static_cast<double>(value.number < range->min ? range->min - value.number
                                                              : value.number - range->max);
  }
  return {changes, growth};
}

void let_all_take_best(const Conflict &conflict, KeyConflict &failure)
{
  const Change *best = nullptr;
  std::pair<std::size_t, double> least;
  const std::vector<Change> values = values_of_accessors(conflict, failure.key);
  for (const Change &value : values) {
    const auto cost = cost_of(conflict, value);
    if (best && cost >= least)
      continue;
    best = &value;
    least = cost;
  }
  if (best)
    let_all_take(conflict, failure, *best);
}

// Replaces each invalid number by the nearest valid one, and removes an invalid range or list.
void mend_own_values(const Conflict &conflict, KeyConflict &failure)
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

void remove_key(const Conflict &conflict, KeyConflict &failure)
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
void hold_less(const Conflict &conflict, KeyConflict &failure, std::uint64_t limit)
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
void fit_pool(const Conflict &conflict, KeyConflict &failure)
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
    let_all_take_number(conflict, failure, failure.needed);
}

void suggest(const Conflict &conflict, KeyConflict &failure)
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
    return let_all_take_best(conflict, failure);
  case Reason::Exceeds:
    if (failure.key == Key::BuffersHeld) // no value helps too many accessors
      return conflict.accessors.size() > kMaxAccessors
                 ? void()
                 : hold_less(conflict, failure, constraint_key_facts(failure.key).most);
    if (failure.key == Key::Buffers)
      return fit_pool(conflict, failure);
    if (failure.key == Key::Placement)
      return let_all_take_best(conflict, failure);
    if (failure.needed != 0)
      let_all_take_number(conflict, failure, failure.needed);
    return;
  }
}

} // namespace

void suggest_changes(Conflict &conflict)
{
  for (KeyConflict &failure : conflict.failures)
    suggest(conflict, failure);
}

} // namespace gstdrm
