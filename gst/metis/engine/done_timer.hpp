// SPDX-License-Identifier: LGPL-2.1-or-later
// A descriptor that says that a request is done, or that its time is over. Header only.
#pragma once

#include <cerrno>
#include <chrono>
#include <utility>

#include <sys/timerfd.h>

#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>

namespace gstdrm::metis {

// A timerfd(2), which needs no thread to become readable at a deadline. Any thread.
class DoneTimer {
public:
  using Clock = std::chrono::steady_clock; // CLOCK_MONOTONIC

  // ErrorCode::Device where the process has no descriptor left.
  static Result<DoneTimer> create()
  {
    UniqueFd fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    const int error = errno;
    if (!fd)
      return Error{ErrorCode::Device,
                   "No descriptor can be had for the timer of an inference: " + errno_text(error) +
                       ". Raise the limit of open files (ulimit -n), or close some.",
                   error};
    return DoneTimer(std::move(fd));
  }

  [[nodiscard]] int get() const noexcept { return fd_.get(); }

  // Readable from that moment on, unless it is set anew before.
  void expire_at(Clock::time_point deadline) const noexcept
  {
    using namespace std::chrono;
    const auto since_boot = deadline.time_since_epoch();
    const auto whole = duration_cast<seconds>(since_boot);
    itimerspec when{};
    when.it_value.tv_sec = static_cast<time_t>(whole.count());
    when.it_value.tv_nsec = static_cast<long>(nanoseconds(since_boot - whole).count());
    ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
  }
  // One nanosecond after the clock's start is past; zero would disarm the timer.
  void expire_now() const noexcept { expire_at(Clock::time_point(std::chrono::nanoseconds(1))); }

private:
  explicit DoneTimer(UniqueFd fd) noexcept : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

} // namespace gstdrm::metis
