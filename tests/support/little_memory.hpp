// SPDX-License-Identifier: LGPL-2.1-or-later
// A process that may map little more than it has (ulimit -v). Not under ASan, whose shadow takes
// terabytes of addresses.
#pragma once

#include <cstddef>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

namespace gstdrm::test {

// As long as it lives, so many bytes can be mapped besides what is.
class LittleMemory {
public:
  explicit LittleMemory(std::size_t left)
  {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    ::getrlimit(RLIMIT_AS, &before_);
    struct rlimit lower = before_;
    lower.rlim_cur = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + left;
    is_set_ = ::setrlimit(RLIMIT_AS, &lower) == 0;
  }
  LittleMemory(const LittleMemory &) = delete;
  LittleMemory &operator=(const LittleMemory &) = delete;
  ~LittleMemory() { ::setrlimit(RLIMIT_AS, &before_); }
  [[nodiscard]] bool is_set() const noexcept { return is_set_; }

private:
  struct rlimit before_ = {};
  bool is_set_ = false;
};

} // namespace gstdrm::test
