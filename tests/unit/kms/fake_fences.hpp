// SPDX-License-Identifier: LGPL-2.1-or-later
// Fences that have the state a test gives them: put in at link time for kms_fence_state.cpp.
#pragma once

#include <functional>

#include "gst/kms/engine/commit/kms_fence_wait.hpp"

namespace gstdrm::test {

// Answers for every fence as long as it lives; one at a time, made before the threads that ask. Without one, nothing
// is a fence.
class FakeFences {
public:
  using Answer = std::function<FenceState(int fence_fd)>;
  static constexpr std::int64_t kTime_ns = 5'000'000; // of fences that have signalled
  explicit FakeFences(Answer answer);
  FakeFences(const FakeFences &) = delete;
  FakeFences &operator=(const FakeFences &) = delete;
  ~FakeFences();
};

} // namespace gstdrm::test
