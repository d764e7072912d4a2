// SPDX-License-Identifier: LGPL-2.1-or-later
#include "thread_syscalls.hpp"

#include <csignal>
#include <cstdarg>
#include <ctime>

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace {

thread_local gstdrm::test::ThreadSyscalls *counter;

void count(const char *name)
{
  if (counter)
    counter->count(name);
}

} // namespace

namespace gstdrm::test {

ThreadSyscalls::ThreadSyscalls()
{
  counter = this;
}

ThreadSyscalls::~ThreadSyscalls()
{
  counter = nullptr;
}

} // namespace gstdrm::test

extern "C" {
#pragma GCC visibility push(default)

int fstat(int fd, struct stat *facts) noexcept
{
  count("fstat");
  return static_cast<int>(::syscall(SYS_fstat, fd, facts));
}

off_t lseek(int fd, off_t offset, int whence) noexcept
{
  count("lseek");
  return ::syscall(SYS_lseek, fd, offset, whence);
}

int ioctl(int fd, unsigned long request, ...) noexcept
{
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  count("ioctl");
  return static_cast<int>(::syscall(SYS_ioctl, fd, request, argument));
}

int ppoll(pollfd *fds, nfds_t n, const timespec *limit, const sigset_t *mask)
{
  count("ppoll");
  timespec left = limit ? *limit : timespec{}; // the kernel writes what is left of it
  constexpr std::size_t kMaskBytes = 8;
  return static_cast<int>(::syscall(SYS_ppoll, fds, n, limit ? &left : nullptr, mask, kMaskBytes));
}

int poll(pollfd *fds, nfds_t n, int timeout)
{
  count("poll");
  const timespec limit = {timeout / 1000, timeout % 1000 * 1000000L};
  timespec left = limit;
  return static_cast<int>(::syscall(SYS_ppoll, fds, n, timeout < 0 ? nullptr : &left, nullptr, 8));
}

#pragma GCC visibility pop
} // extern "C"
