// SPDX-License-Identifier: LGPL-2.1-or-later
// Stands before the C library's memfd_create() in a test program, and counts.
#include "count_memfds.hpp"

#include <atomic>

#include <sys/syscall.h>
#include <unistd.h>

namespace {

std::atomic<std::uint64_t> made{0};

} // namespace

extern "C" __attribute__((visibility("default"))) int memfd_create(const char *name,
                                                                   unsigned flags) noexcept
{
  const int fd = static_cast<int>(syscall(SYS_memfd_create, name, flags));
  if (fd >= 0)
    made.fetch_add(1);
  return fd;
}

std::uint64_t gstdrm::test::memfds_made() noexcept
{
  return made.load();
}
