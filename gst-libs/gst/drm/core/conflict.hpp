// SPDX-License-Identifier: LGPL-2.1-or-later
// Why the accessors of a buffer cannot be reconciled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "constraints.hpp"

namespace gstdrm {

// Same order and meaning as GstDrmConflictReason in the C API.
enum class ConflictReason : std::uint8_t {
  Disjoint,  // sets or ranges have nothing in common
  Unequal,   // values that have to be equal are not
  Invalid,   // an accessor's own value makes no sense
  WrongType, // the key belongs to another type of buffer
  Missing,   // the type of the buffer requires the key, and nobody gave it
  Exceeds,   // the values together are more than what is possible
};
const char *conflict_reason_name(ConflictReason reason) noexcept;

// One change of one accessor's value. Which member counts depends on the key.
struct Change {
  enum class What : std::uint8_t {
    Include, // let its range or its set have the value too
    Replace, // take this value in the place of its own
    Remove,  // leave the key out
    State,   // give the key a value; which one is the user's choice
  };
  std::size_t accessor = 0;
  ConstraintKey key{};
  What what = What::Include;
  std::uint64_t number = 0; // for sets of kinds: one of kPlace…
  Format format;
  std::string heap; // for Placement: where not empty, the heap to add
  std::vector<std::uint64_t> dims;
};

struct KeyConflict {
  ConstraintKey key{};
  ConflictReason reason{};
  std::string why;             // a part of a sentence, without a full stop
  std::uint64_t needed = 0;    // the number that has to be accepted, where there is one
  std::vector<Change> changes; // all of them together make the key fit
};

// Why the accessors cannot be reconciled. It has copies of their constraints, so it outlives them.
struct Conflict {
  std::vector<Constraints> accessors;
  std::vector<KeyConflict> failures; // by key; at least one
};

// Several lines: each key that failed, the value of every accessor, the smallest change.
std::string conflict_to_text(const Conflict &conflict);
// The conflict as JSON, for programs, with the values in full.
std::string conflict_to_json(const Conflict &conflict);
// "Let camera accept a stride of 2048 bytes."; empty where no change is known.
std::string describe_changes(const Conflict &conflict, const KeyConflict &failure);

} // namespace gstdrm
