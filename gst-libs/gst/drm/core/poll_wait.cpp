// SPDX-License-Identifier: LGPL-2.1-or-later
#include "poll_wait.hpp"

#include <array>
#include <cerrno>
#include <ctime>

#include <poll.h>

namespace gstdrm {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

timespec time_left(Clock::time_point deadline) noexcept
{
  constexpr long long kNanosecondsPerSecond = 1'000'000'000;
  const auto left = std::chrono::duration_cast<nanoseconds>(deadline - Clock::now());
  if (left <= nanoseconds::zero())
    return {};
  return {static_cast<time_t>(left.count() / kNanosecondsPerSecond),
          static_cast<long>(left.count() % kNanosecondsPerSecond)};
}

} // namespace

Deadline deadline_after(nanoseconds timeout) noexcept
{
  const Clock::time_point now = Clock::now();
  if (timeout < nanoseconds::zero() || timeout > Clock::time_point::max() - now)
    return std::nullopt;
  return now + timeout;
}

PollResult poll_readable(int fd, const Deadline &deadline, int wake_fd) noexcept
{
  for (;;) {
    const timespec limit = deadline ? time_left(*deadline) : timespec{};
    // poll(2) passes over a descriptor that is negative
    std::array<pollfd, 2> polled = {pollfd{fd, POLLIN, 0}, pollfd{wake_fd, POLLIN, 0}};
    const int ready = ::ppoll(polled.data(), polled.size(), deadline ? &limit : nullptr, nullptr);
    const int error = errno;
    if (ready == 0)
      return {PollEnd::TimeIsOver};
    if (ready > 0 && polled[0].revents & POLLNVAL)
      return {PollEnd::Failed, EBADF};
    if (ready > 0)
      return {polled[0].revents != 0 ? PollEnd::Ready : PollEnd::Woken};
    if (error != EINTR && error != EAGAIN)
      return {PollEnd::Failed, error};
  }
}

} // namespace gstdrm
