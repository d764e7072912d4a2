// SPDX-License-Identifier: LGPL-2.1-or-later
// The clock of the engine, in a file of its own so that tests can have another.
#include <ctime>

#include "kms_event_loop.hpp"

namespace gstdrm::kms {

std::int64_t monotonic_now_ns() noexcept
{
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

} // namespace gstdrm::kms
