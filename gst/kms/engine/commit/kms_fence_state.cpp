// SPDX-License-Identifier: LGPL-2.1-or-later
#include "engine/card/kms_event_loop.hpp"
#include "kms_fence_wait.hpp"

namespace gstdrm::kms {

FenceState ask_fence(int fence_fd)
{
  const Result<FenceState> state = checked_fence_state(fence_fd);
  return state ? *state : FenceState::Failed;
}

std::optional<std::int64_t> fence_signalled_at(int fence_fd)
{
  const Result<FenceTime> time = fence_time(fence_fd);
  if (!time) // no fence at all, which would never signal
    return monotonic_now_ns();
  return *time;
}

} // namespace gstdrm::kms
