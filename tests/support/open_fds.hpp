// SPDX-License-Identifier: LGPL-2.1-or-later
// Descriptors that this process has open.
#pragma once

#include <dirent.h>

namespace gstdrm::test {

// For comparisons: the count has three more than are open, the directory's own two entries and its
// descriptor.
inline unsigned count_fds()
{
  unsigned count = 0;
  DIR *directory = opendir("/proc/self/fd");
  while (directory && readdir(directory))
    count++;
  if (directory)
    closedir(directory);
  return count;
}

} // namespace gstdrm::test
