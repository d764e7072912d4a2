// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts the system calls by which one thread asks about descriptors: fstat, lseek, ioctl, poll and
// ppoll of the program and its libraries, which find the functions of the test before those of the
// C library.
#pragma once

#include <map>
#include <string>

namespace gstdrm::test {

// Of the thread that made it, from then on.
class ThreadSyscalls {
public:
  ThreadSyscalls();
  ~ThreadSyscalls();
  ThreadSyscalls(const ThreadSyscalls &) = delete;
  ThreadSyscalls &operator=(const ThreadSyscalls &) = delete;

  // "fstat" to the number of calls; without those that were not made.
  [[nodiscard]] const std::map<std::string, int> &counts() const noexcept { return counts_; }
  void count(const char *name) { counts_[name]++; }

private:
  std::map<std::string, int> counts_;
};

} // namespace gstdrm::test
