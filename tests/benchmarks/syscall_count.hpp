// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts every system call of a process and its threads by name, with the kernel's own trace
// (tracefs, raw_syscalls): nothing in the process knows of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <sys/types.h>

namespace gstdrm::bench {

// "ioctl DRM_ATOMIC" or "ppoll" to the number of calls
using Calls = std::map<std::string, std::uint64_t>;

class SyscallCount {
public:
  // From now on; threads that the process starts later count too. Ends the program where the kernel
  // has no such trace.
  explicit SyscallCount(pid_t process);
  ~SyscallCount();
  SyscallCount(const SyscallCount &) = delete;
  SyscallCount &operator=(const SyscallCount &) = delete;

  // Once the process has ended.
  [[nodiscard]] Calls read() const;
};

struct CountedRun {
  Calls calls;
  std::string output; // what the job printed
};

// Runs the job in a process of its own, which starts once it is being counted, and ends the program
// where the job returns anything but 0 or takes longer than that. `name` is for the message.
CountedRun run_counted(const char *name, unsigned patience_s, const std::function<int()> &job);

// (calls of the longer run - calls of the shorter one) / frames, by name; what starting costs is
// left out.
using PerFrame = std::map<std::string, double>;
PerFrame per_frame(const Calls &shorter, const Calls &longer, double frames);

// False for calls that reach the kernel in user-mode Linux alone: elsewhere the vDSO answers them.
bool is_call_elsewhere(const std::string &name);

} // namespace gstdrm::bench
