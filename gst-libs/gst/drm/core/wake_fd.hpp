// SPDX-License-Identifier: LGPL-2.1-or-later
// A descriptor that ends the poll(2) of another thread. Header only.
#pragma once

#include <cerrno>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "errno_text.hpp"
#include "result.hpp"
#include "unique_fd.hpp"

namespace gstdrm {

// An eventfd(2): readable (POLLIN) from the first wake() until drain(). Any thread.
class WakeFd {
public:
  // Empty if there is nothing to poll, and wake() does nothing.
  WakeFd() noexcept = default;
  // ErrorCode::Device where the process has no descriptor left.
  static Result<WakeFd> create()
  {
    UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    const int error = errno;
    if (!fd)
      return Error{ErrorCode::Device, "No event descriptor (" + errno_text(error) + ").", error};
    return WakeFd(std::move(fd));
  }

  // For poll(2); -1 when empty, which poll() ignores.
  [[nodiscard]] int get() const noexcept { return fd_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }

  // A full counter refuses the write (EAGAIN), and is readable all the same.
  void wake() const noexcept
  {
    if (!fd_)
      return;
    while (::eventfd_write(fd_.get(), 1) < 0 && errno == EINTR)
      ;
  }
  // Takes back every wake() until now; poll() sleeps again.
  void drain() const noexcept
  {
    eventfd_t count = 0;
    if (!fd_)
      return;
    while (::eventfd_read(fd_.get(), &count) < 0 && errno == EINTR)
      ;
  }

private:
  explicit WakeFd(UniqueFd fd) noexcept : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

} // namespace gstdrm
