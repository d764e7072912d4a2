// SPDX-License-Identifier: LGPL-2.1-or-later
// A process that has few file descriptors left.
#pragma once

#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace gstdrm::test {

// As long as it lives, so many more can be opened (EMFILE). Other threads open none meanwhile of their own accord.
class FewDescriptors {
public:
  explicit FewDescriptors(unsigned left)
  {
    // the limit is one on numbers, of which the lowest free one is taken
    std::vector<int> taken;
    for (unsigned i = 0; i <= left; i++)
      taken.push_back(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    for (const int fd : taken)
      ::close(fd);
    ::getrlimit(RLIMIT_NOFILE, &before_);
    struct rlimit lower = before_;
    lower.rlim_cur = static_cast<rlim_t>(taken.back());
    ::setrlimit(RLIMIT_NOFILE, &lower);
  }
  FewDescriptors(const FewDescriptors &) = delete;
  FewDescriptors &operator=(const FewDescriptors &) = delete;
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
  struct rlimit before_ = {};
};

} // namespace gstdrm::test
