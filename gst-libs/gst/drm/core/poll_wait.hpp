// SPDX-License-Identifier: LGPL-2.1-or-later
// Waiting for a descriptor with poll(2).
#pragma once

#include <chrono>
#include <optional>

namespace gstdrm {

// How a wait for a descriptor ended.
enum class PollEnd {
  Ready,      // the descriptor is readable, or has an error to report
  TimeIsOver, // the deadline passed
  Woken,      // the other descriptor is readable, and this one is not
  Failed,     // see PollResult::sys_errno
};
struct PollResult {
  PollEnd end;
  int sys_errno = 0;
};

using Deadline = std::optional<std::chrono::steady_clock::time_point>; // none: no limit

// The deadline that lies `timeout` ahead; no limit where the clock ends before, or `timeout` is
// negative.
Deadline deadline_after(std::chrono::nanoseconds timeout) noexcept;

// Waits until `fd` is readable, until `wake_fd` is, which may be -1, or until the deadline. A
// deadline that has passed makes this a look at both. A signal does not end the wait. EBADF where
// `fd` is not open.
PollResult poll_readable(int fd, const Deadline &deadline, int wake_fd = -1) noexcept;

} // namespace gstdrm
