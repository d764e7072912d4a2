// SPDX-License-Identifier: LGPL-2.1-or-later
// A program that runs with a time limit, and what it wrote. For programs that load drivers: one
// that crashes or hangs ends with its own process.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "result.hpp"

namespace gstdrm {

struct ChildRun {
  enum class End {
    Exited,      // `number` is its status
    Killed,      // by the signal `number`, which was not sent here
    TimeLimit,   // ended here
    TooMuch,     // it wrote more than was allowed, and was ended here
    Unknown,     // the application has taken its status away (SIGCHLD)
  };
  End end = End::Unknown;
  int number = 0;
  std::string output; // what it wrote to its standard output until then
};

struct ChildLimits {
  std::chrono::milliseconds time;
  std::size_t most_output; // bytes
};

// Runs argv[0], a path, and waits for its end: at most `time`, and a little longer for a process
// that the kernel does not end at once. The program has nothing to read, a pipe to here as standard
// output, the standard error of this process, and whatever else this process has open without
// O_CLOEXEC. It has a process group of its own, which is ended with it, and no blocked or ignored
// signals. Any thread: there is no code between fork and exec. Error: it could not be started, or
// not be watched.
Result<ChildRun> run_child(const std::vector<std::string> &argv, const ChildLimits &limits);

// "SIGSEGV"; "signal 99" for one without a name.
std::string signal_text(int number);

} // namespace gstdrm
