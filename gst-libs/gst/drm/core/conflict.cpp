// SPDX-License-Identifier: LGPL-2.1-or-later
#include "conflict.hpp"

#include <array>

#include "json_writer.hpp"

namespace gstdrm {

namespace {

using Key = ConstraintKey;
using What = Change::What;

// The longest description of a value in the text for a person. The JSON has the whole value.
constexpr std::size_t kValueBytes = 200;
constexpr std::size_t kMostChanges = 4;

std::string changed_value(const Change &change)
{
  if (change.key == Key::Formats)
    return describe_format(change.format);
  if (change.key == Key::Placement)
    return change.heap.empty()
               ? describe_kinds(static_cast<std::uint32_t>(change.number)) + " memory"
               : "memory of the heap " + change.heap;
  if (change.key == Key::TensorDims) {
    Constraints only;
    only.dims = change.dims;
    return describe_value(only, change.key);
  }
  return describe_number(change.key, change.number);
}

std::string describe_change(const Conflict &conflict, const Change &change)
{
  const std::string who = "let " + describe_accessor(conflict.accessors[change.accessor]);
  const std::string name(constraint_key_facts(change.key).name);
  switch (change.what) {
  case What::Include:
    return who + " also take " + changed_value(change) +
           (change.key == Key::Formats || change.key == Key::Placement ? "" : " as " + name);
  case What::Replace:
    return who + " ask for " + changed_value(change) + " as " + name;
  case What::Remove:
    return who + " leave " + name + " out";
  case What::State:
    return "let an accessor state " + name;
  }
  return {};
}

void write_bounds(JsonWriter &json, const ConstraintKeyFacts &facts, const Bounds &bounds)
{
  const bool is_name = facts.key == Key::BufferType || facts.key == Key::TensorType;
  if (is_name || facts.rule == MergeRule::Flags) {
    json.string(describe_number(facts.key, bounds.min));
    return;
  }
  if (facts.rule != MergeRule::Range) {
    json.number(bounds.min);
    return;
  }
  json.begin_object().key("min").number(bounds.min).key("max");
  (bounds.max == UINT64_MAX ? json.null() : json.number(bounds.max)).end_object();
}

void write_placement(JsonWriter &json, const Placement &placement)
{
  json.begin_object().key("kinds").begin_array();
  for (const std::uint32_t kind : {kPlaceSystem, kPlaceContiguous, kPlaceDevice})
    if ((placement.kinds & kind) != 0)
      json.string(describe_kinds(kind));
  json.end_array().key("heaps").begin_array();
  for (const std::string &heap : placement.heaps)
    json.string(heap);
  json.end_array().end_object();
}

void write_format(JsonWriter &json, const Format &format)
{
  json.string(format.modifier == kModImplicit ? describe_format(format)
                                              : std::string(format_to_text(format).view()));
}

void write_value(JsonWriter &json, const Constraints &one, const ConstraintKeyFacts &facts)
{
  if (!one.has(facts.key)) {
    json.null();
  } else if (facts.key == Key::Formats) {
    json.begin_array();
    for (const Format &format : one.formats->pairs())
      write_format(json, format);
    json.end_array();
  } else if (facts.key == Key::Placement) {
    write_placement(json, *one.placement);
  } else if (facts.key == Key::TensorDims) {
    json.begin_array();
    for (const std::uint64_t dim : *one.dims)
      json.number(dim);
    json.end_array();
  } else {
    write_bounds(json, facts, *one.number(facts.key));
  }
}

// What is changed, also for programs: the key may be another than the one that failed.
void write_change(JsonWriter &json, const Conflict &conflict, const Change &change)
{
  constexpr std::array<const char *, 4> kNames = {"include", "replace", "remove", "state"};
  json.begin_object().key("accessor").number(change.accessor);
  json.key("what").string(kNames[static_cast<std::size_t>(change.what)]);
  json.key("key").string(constraint_key_facts(change.key).name).key("value");
  Constraints value;
  value.set(change.key, change.number);
  if (change.key == Key::Formats)
    (void)value.formats.emplace().add(change.format);
  if (change.key == Key::Placement)
    value.set_placement(static_cast<std::uint32_t>(change.number),
                        change.heap.empty() ? std::vector<std::string>()
                                            : std::vector<std::string>{change.heap});
  if (change.key == Key::TensorDims)
    value.dims = change.dims;
  if (change.what == What::Remove || change.what == What::State)
    json.null();
  else
    write_value(json, value, constraint_key_facts(change.key));
  json.key("text").string(describe_change(conflict, change)).end_object();
}

void write_failure(JsonWriter &json, const Conflict &conflict, const KeyConflict &failure)
{
  const ConstraintKeyFacts &facts = constraint_key_facts(failure.key);
  json.begin_object().key("key").string(facts.name);
  json.key("unit").string(facts.unit);
  json.key("reason").string(conflict_reason_name(failure.reason));
  json.key("why").string(failure.why).key("values").begin_array();
  for (const Constraints &one : conflict.accessors)
    write_value(json, one, facts);
  json.end_array().key("changes").begin_array();
  for (const Change &change : failure.changes)
    write_change(json, conflict, change);
  json.end_array().end_object();
}

} // namespace

const char *conflict_reason_name(ConflictReason reason) noexcept
{
  constexpr std::array<const char *, 6> kNames = {"disjoint",   "unequal", "invalid",
                                                  "wrong-type", "missing", "exceeds"};
  return kNames[static_cast<std::size_t>(reason)];
}

std::string describe_changes(const Conflict &conflict, const KeyConflict &failure)
{
  std::string text;
  for (std::size_t i = 0; i < failure.changes.size(); ++i) {
    if (i == kMostChanges) {
      text += "; and " + std::to_string(failure.changes.size() - i) + " more likewise";
      break;
    }
    text += (i > 0 ? "; " : "") + describe_change(conflict, failure.changes[i]);
  }
  if (text.empty())
    return {};
  text[0] = 'L'; // every change begins with "let"
  return text + ".";
}

std::string conflict_to_text(const Conflict &conflict)
{
  std::string text =
      "No buffer suits all " + std::to_string(conflict.accessors.size()) + " accessors.";
  if (conflict.accessors.size() == 1)
    text = "No buffer suits " + describe_accessor(conflict.accessors[0]) + ".";
  for (const KeyConflict &failure : conflict.failures) {
    text.append("\n").append(constraint_key_facts(failure.key).name);
    text += ": " + failure.why + ".";
    for (const Constraints &one : conflict.accessors)
      text +=
          "\n  " + describe_accessor(one) + ": " + describe_value(one, failure.key, kValueBytes);
    if (const std::string changes = describe_changes(conflict, failure); !changes.empty())
      text += "\n  Smallest change: " + changes;
  }
  return text;
}

std::string conflict_to_json(const Conflict &conflict)
{
  JsonWriter json;
  // as the texts of gst-drm-inspect-1.0 begin
  json.begin_object().key("schema").string("gst-drm-conflict").key("version").number(1);
  json.key("accessors").begin_array();
  for (const Constraints &one : conflict.accessors)
    json.begin_object().key("name").string(one.name).key("device").string(one.device).end_object();
  json.end_array().key("failures").begin_array();
  for (const KeyConflict &failure : conflict.failures)
    write_failure(json, conflict, failure);
  json.end_array().end_object();
  return json.text();
}

} // namespace gstdrm
