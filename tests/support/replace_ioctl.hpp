// SPDX-License-Identifier: LGPL-2.1-or-later
// The program's own ioctl(), which stands before the C library's. Included in one source of a
// program, which defines replaced_ioctl(). For the calls of libraries the program also needs the
// link argument -Wl,--export-dynamic-symbol=ioctl.
#pragma once

#include <cstdarg>

namespace gstdrm::test {
int replaced_ioctl(int fd, unsigned long request, void *argument) noexcept;
}

extern "C" __attribute__((visibility("default"))) int ioctl(int fd, unsigned long request,
                                                            ...) noexcept
{
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  return gstdrm::test::replaced_ioctl(fd, request, argument);
}
