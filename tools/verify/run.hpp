// SPDX-License-Identifier: LGPL-2.1-or-later
// A program that runs under the tracer.
#pragma once

#include <string>
#include <vector>

#include "trace.hpp"

namespace verify {

struct Limits {
  unsigned frames = 0;    // that a sink receives; 0: no limit
  unsigned seconds = 0;   // since the first frame; 0: no limit
  unsigned timeout_s = 0; // without a frame
};

struct Run {
  Trace trace;         // of all processes that had frames
  std::string problem; // why the program did not come to its end; empty if it did
};

// Starts argv with the tracer, and interrupts it (SIGINT, as Ctrl-C) at a limit. A Failure if
// nothing can be said at all: there is no program, no tracer or no frame.
Outcome<Run> run_program(const std::vector<std::string> &argv, const Limits &limits);

} // namespace verify
