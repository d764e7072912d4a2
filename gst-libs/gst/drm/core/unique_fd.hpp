// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace gstdrm {

// Sole owner of a file descriptor. A raw `int fd` anywhere else is a borrow that ends with the
// call.
class UniqueFd {
public:
  UniqueFd() noexcept = default;
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd &&other) noexcept : fd_(other.release()) {}
  UniqueFd &operator=(UniqueFd &&other) noexcept
  {
    reset(other.release());
    return *this;
  }
  UniqueFd(const UniqueFd &) = delete;
  UniqueFd &operator=(const UniqueFd &) = delete;
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

  void reset(int fd = -1) noexcept
  {
    if (fd_ >= 0 && fd_ != fd)
      ::close(fd_);
    fd_ = fd;
  }

  // A second descriptor of the same open file, close-on-exec; empty with errno set on failure.
  [[nodiscard]] UniqueFd dup() const noexcept { return UniqueFd::dup(fd_); }
  [[nodiscard]] static UniqueFd dup(int borrowed) noexcept
  {
    return UniqueFd(borrowed < 0 ? -1 : ::fcntl(borrowed, F_DUPFD_CLOEXEC, 0));
  }

private:
  int fd_ = -1;
};

} // namespace gstdrm
