// SPDX-License-Identifier: LGPL-2.1-or-later
// The engine's clock, in the test's hand: it stands still between calls of advance(). Elsewhere in
// the program it is the system's.
#pragma once

#include <chrono>

namespace gstdrm::test {

struct StoppedClock {
  StoppedClock();
  ~StoppedClock();
  StoppedClock(const StoppedClock &) = delete;
  StoppedClock &operator=(const StoppedClock &) = delete;
  // Whoever sleeps until some time is not woken.
  void advance(std::chrono::nanoseconds time);
};

} // namespace gstdrm::test
