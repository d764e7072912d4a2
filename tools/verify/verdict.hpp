// SPDX-License-Identifier: LGPL-2.1-or-later
// The four invariants of a frame path without copies, judged from a trace
// (docs/gst-drm-verify.md).
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "trace.hpp"

namespace verify {

enum class State { Holds, Violated, Unknown, Skipped };

struct Invariant {
  const char *name;     // "I1"
  const char *json_key; // as in the document's result.json
  const char *meaning;
  State state = State::Unknown;
  std::string why; // what was seen, or why nothing could be
};

struct Violation {
  std::string invariant;   // "I4"; "expected" for a difference from a saved result
  std::string element;     // empty: the whole pipeline
  std::uint64_t frame = 0; // number of the first frame, from 1; 0: no single one
  std::string what;
  std::string cure;
};

struct Verdict {
  std::array<Invariant, 4> invariants;
  std::vector<Violation> violations;
  std::vector<std::string> notes; // worth knowing, and no violation
  [[nodiscard]] bool is_violated() const { return !violations.empty(); }
  [[nodiscard]] bool is_unknown() const;
};

// Whether I1 holds for it: two of attached devices, the driver that exported it, and the CPU that
// wrote it use it.
bool is_shared(const DmaBuf &dmabuf);

// `skipped` are the names of invariants that are not judged.
Verdict judge(const Trace &trace, const std::set<std::string> &skipped);

} // namespace verify
