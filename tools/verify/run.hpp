// SPDX-License-Identifier: LGPL-2.1-or-later
// A program that runs under the tracer: one that is started here, or somebody else's.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trace.hpp"

namespace verify {

struct Limits {
  unsigned frames = 0;    // that a sink receives; 0: no limit
  unsigned seconds = 0;   // since the first frame; 0: no limit
  unsigned timeout_s = 0; // without a frame
  bool draws = false;     // GStreamer's drawing is wanted
};

struct Run {
  Trace trace;         // of all processes that had frames
  std::string problem; // why the program did not come to its end; empty if it did
};

Outcome<Trace> read_trace(const std::filesystem::path &path);

// Starts argv with the tracer, and interrupts it (SIGINT, as Ctrl-C) at a limit. A Failure if
// nothing can be said at all: there is no program, no tracer or no frame.
Outcome<Run> run_program(const std::vector<std::string> &argv, const Limits &limits);

// Makes a folder for the traces of other programs, which has to be new or empty. The environment
// that they need, as commands for a shell.
Outcome<std::string> start_recording(const std::filesystem::path &folder);

// Ends the traces in a folder, or the one in a file, of programs that go on.
Outcome<Run> stop_recording(const std::filesystem::path &traces);

} // namespace verify
