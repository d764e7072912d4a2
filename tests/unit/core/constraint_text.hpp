// SPDX-License-Identifier: LGPL-2.1-or-later
// Accessors as text, for tables: "a device=/dev/gpu stride-align=64 width=1..4096 formats=NV12,XR24 | b placement=system".
// The first word of an accessor is its name; "-" is none. A key that is given twice has its last value.
#pragma once

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gst/drm/core/reconcile.hpp>

namespace gstdrm::test {

inline std::vector<std::string> split(const std::string &text, char separator)
{
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    parts.push_back(part);
  return parts;
}

inline std::uint64_t number_of(const std::string &text)
{
  static const std::vector<std::string> kTypes = {"image", "raw", "tensor", "array", "pyramid"};
  static const std::vector<std::string> kElements = {"uint8", "int8", "float32"};
  static const std::vector<std::string> kAccess = {"none", "read", "write", "read-write"};
  for (const auto *names : {&kTypes, &kElements, &kAccess})
    if (const auto found = std::find(names->begin(), names->end(), text); found != names->end())
      return static_cast<std::uint64_t>(found - names->begin());
  return text == "max" ? UINT64_MAX : std::stoull(text, nullptr, 0);
}

inline FormatSet formats_of(const std::string &text)
{
  FormatSet set;
  for (const std::string &part : split(text, ',')) {
    const bool implicit = part.ends_with(":implicit");
    const auto format = parse_format(implicit ? part.substr(0, part.find(':')) : part);
    if (!format)
      throw std::invalid_argument(part);
    set.add({format->fourcc, implicit ? kModImplicit : format->modifier});
  }
  return set;
}

inline void set_placement(Constraints &one, const std::string &text)
{
  std::uint32_t kinds = 0;
  std::vector<std::string> heaps;
  for (const std::string &part : split(text, '+')) {
    if (part.starts_with("heap:"))
      heaps.push_back(part.substr(5));
    else
      kinds |= part == "system" ? kPlaceSystem : part == "contiguous" ? kPlaceContiguous : part == "device" ? kPlaceDevice : 8;
  }
  one.set_placement(kinds, heaps);
}

inline void set_from_text(Constraints &one, const std::string &name, const std::string &value)
{
  for (const ConstraintKeyFacts &facts : constraint_keys()) {
    if (facts.name != name)
      continue;
    if (facts.key == ConstraintKey::Formats) {
      one.formats = formats_of(value);
    } else if (facts.key == ConstraintKey::Placement) {
      set_placement(one, value);
    } else if (facts.key == ConstraintKey::TensorDims) {
      one.dims.emplace();
      for (const std::string &dim : split(value, 'x'))
        one.dims->push_back(number_of(dim));
    } else if (const auto dots = value.find(".."); dots != std::string::npos) {
      if (!one.set(facts.key, number_of(value.substr(0, dots)), number_of(value.substr(dots + 2))))
        throw std::invalid_argument(name + " has no range");
    } else if (!one.set(facts.key, number_of(value))) {
      throw std::invalid_argument(name);
    }
    return;
  }
  throw std::invalid_argument(name + " is no key");
}

inline Constraints accessor_of(const std::string &text)
{
  Constraints one;
  std::istringstream stream(text);
  stream >> one.name;
  if (one.name == "-")
    one.name.clear();
  for (std::string word; stream >> word;) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (name == "device")
      one.device = word.substr(equals + 1);
    else
      set_from_text(one, name, word.substr(equals + 1));
  }
  return one;
}

inline std::vector<Constraints> accessors_of(const std::string &text)
{
  std::vector<Constraints> all;
  for (const std::string &part : split(text, '|'))
    all.push_back(accessor_of(part));
  return all;
}

inline Reconciliation reconcile_all(const std::vector<Constraints> &all)
{
  std::vector<const Constraints *> pointers;
  for (const Constraints &one : all)
    pointers.push_back(&one);
  return reconcile(pointers);
}

// "!stride:exceeds fds:disjoint" for a conflict. Else what is computed: "system 460800 0/640 307200/640", the heap, the
// bytes and each plane's offset and stride; "system" where there is no layout.
inline std::string outcome_of(const Reconciliation &outcome)
{
  std::ostringstream text;
  if (const auto *conflict = std::get_if<Conflict>(&outcome)) {
    text << "!";
    for (const KeyConflict &failure : conflict->failures)
      text << (&failure == &conflict->failures.front() ? "" : " ") << constraint_key_facts(failure.key).name << ":"
           << conflict_reason_name(failure.reason);
    return text.str();
  }
  const auto &done = std::get<Reconciled>(outcome);
  text << (done.heap.kind == 0 ? "heap:" + done.heap.name : describe_kinds(done.heap.kind));
  if (done.heap.kind == kPlaceDevice)
    text << ":" << done.heap.name;
  if (done.layout) {
    text << " " << done.layout->size_bytes;
    for (const PlaneSpan &plane : done.layout->planes)
      text << " " << plane.offset_bytes << "/" << plane.stride_bytes;
  }
  return text.str();
}

// Does what a change advises.
inline void apply_change(Constraints &constraints, const Change &change)
{
  auto &number = constraints.numbers[static_cast<std::size_t>(change.key)];
  const bool removes = change.what == Change::What::Remove;
  switch (constraint_key_facts(change.key).rule) {
  case MergeRule::Formats:
    if (removes)
      constraints.formats.reset();
    else if (constraints.formats)
      (void)constraints.formats->add(change.format);
    return;
  case MergeRule::Placement:
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
  case MergeRule::Dims:
    if (removes)
      constraints.dims.reset();
    else
      constraints.dims = change.what == Change::What::State ? std::vector<std::uint64_t>{1} : change.dims;
    return;
  default:
    break;
  }
  if (removes)
    number.reset();
  else if (change.what == Change::What::State)
    number = Bounds{1, 1};
  else if (change.what == Change::What::Include && number)
    number = Bounds{std::min(number->min, change.number), std::max(number->max, change.number)};
  else
    number = Bounds{change.number, change.number};
}

} // namespace gstdrm::test
