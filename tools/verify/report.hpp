// SPDX-License-Identifier: LGPL-2.1-or-later
// A trace and its verdict for people and programs.
#pragma once

#include <string>

#include "verdict.hpp"

namespace verify {

// The table of links, the CPU's mappings, the elements' latencies, and the verdict.
std::string write_text(const Trace &trace, const Verdict &verdict);

// docs/gst-drm-verify.schema.json
std::string write_json(const Trace &trace, const Verdict &verdict);

// One page without references to others. The picture of the pipeline is drawn by Graphviz' `dot`,
// and left out if that is not installed.
std::string write_html(const Trace &trace, const Verdict &verdict);

// The differences of this run from a saved result of write_json(), as violations: invariants that
// held, links that were there, what they carried, and what the element in front did.
Outcome<std::vector<Violation>> compare(const Trace &trace, const Verdict &verdict,
                                        std::string_view saved, const std::string &name);

} // namespace verify
