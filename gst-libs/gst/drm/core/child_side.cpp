// SPDX-License-Identifier: LGPL-2.1-or-later
#include "child_side.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gstdrm {

void close_inherited() noexcept
{
  (void)::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
}

bool end_with(pid_t parent) noexcept
{
  return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == parent;
}

UniqueFd take_standard_output() noexcept
{
  UniqueFd own(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    (void)::close(STDOUT_FILENO);
  return own;
}

bool write_all(int fd, std::string_view text) noexcept
{
  while (!text.empty()) {
    const auto written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR)
      return false;
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(0, written)));
  }
  return true;
}

} // namespace gstdrm
