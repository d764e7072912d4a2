// SPDX-License-Identifier: LGPL-2.1-or-later
// Stands before the C library's close() in a test program, and ends it where a descriptor is closed
// that is not open: whoever does that closes somebody else's file as soon as another thread is
// given the number.
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <sys/syscall.h>
#include <unistd.h>

extern "C" __attribute__((visibility("default"))) int close(int fd)
{
  const int ret = static_cast<int>(syscall(SYS_close, fd));
  if (ret != 0 && errno == EBADF && fd >= 0) {
    std::fprintf(stderr, "descriptor %d was closed twice\n", fd);
    std::abort();
  }
  return ret;
}
