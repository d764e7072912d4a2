// SPDX-License-Identifier: LGPL-2.1-or-later
// In place of kms_clock.cpp.
#include "fake_clock.hpp"

#include <atomic>
#include <cstdint>
#include <ctime>

#include "gst/kms/engine/card/kms_event_loop.hpp"

namespace {

std::int64_t system_now_ns()
{
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::atomic<std::int64_t> stopped_at_ns{0}; // 0: it runs

} // namespace

std::int64_t gstdrm::kms::monotonic_now_ns() noexcept
{
  const std::int64_t stopped = stopped_at_ns;
  return stopped != 0 ? stopped : system_now_ns();
}

namespace gstdrm::test {

StoppedClock::StoppedClock()
{
  stopped_at_ns = system_now_ns();
}

StoppedClock::~StoppedClock()
{
  stopped_at_ns = 0;
}

void StoppedClock::advance(std::chrono::nanoseconds time)
{
  stopped_at_ns += time.count();
}

} // namespace gstdrm::test
