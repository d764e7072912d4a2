// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_same_file.hpp"

#include <cstdint>

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gstdrm::kms {

namespace {

struct flock one_byte(short type, off_t at)
{
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = 1;
  return lock;
}

} // namespace

// A lock of an open file description is in the way of every other one (fcntl(2), F_OFD_SETLK). DRM
// has numbers of its own for open files, drmGetMagic(): but each lease begins anew with 1. The byte
// is one that no other process asks about at the same time.
bool same_file_by_lock(int a, int b)
{
  struct stat one {
  }, two{};
  if (fstat(a, &one) != 0 || fstat(b, &two) != 0 || one.st_dev != two.st_dev ||
      one.st_ino != two.st_ino)
    return false; // locks are of one node
  const off_t at =
      (static_cast<off_t>(getpid()) << 24) + (reinterpret_cast<std::uintptr_t>(&a) & 0xffffff);
  struct flock own = one_byte(F_WRLCK, at);
  if (fcntl(a, F_OFD_SETLK, &own) != 0)
    return a == b;
  struct flock other = one_byte(F_WRLCK, at);
  const bool same = fcntl(b, F_OFD_GETLK, &other) == 0 && other.l_type == F_UNLCK;
  own = one_byte(F_UNLCK, at);
  (void)fcntl(a, F_OFD_SETLK, &own);
  return same;
}

bool same_file(int a, int b)
{
  const pid_t self = getpid();
  const long order = syscall(SYS_kcmp, self, self, KCMP_FILE, a, b);
  return order < 0 ? same_file_by_lock(a, b) : order == 0;
}

} // namespace gstdrm::kms
