// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts every system call of a process and its threads by name, with the kernel's own trace
// (tracefs, raw_syscalls): nothing in the process knows of it.
#pragma once

#include <cstdint>
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

} // namespace gstdrm::bench
