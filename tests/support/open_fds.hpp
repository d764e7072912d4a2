// SPDX-License-Identifier: LGPL-2.1-or-later
// Descriptors that this process has open.
#pragma once

#include <string>

#include <dirent.h>
#include <unistd.h>

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

// "/dev/udmabuf, /dmabuf:, ...": what they are, for the text of a failure.
inline std::string text_of_fds()
{
  std::string text;
  DIR *directory = opendir("/proc/self/fd");
  while (const dirent *entry = directory ? readdir(directory) : nullptr) {
    char target[256];
    const ssize_t length = readlinkat(dirfd(directory), entry->d_name, target, sizeof target);
    if (length > 0)
      text += (text.empty() ? "" : ", ") + std::string(target, static_cast<std::size_t>(length));
  }
  if (directory)
    closedir(directory);
  return text;
}

} // namespace gstdrm::test
