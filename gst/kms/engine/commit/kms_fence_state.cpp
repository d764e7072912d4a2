// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_fence_state.hpp"

namespace gstdrm::kms {

FenceState ask_fence(int fence_fd)
{
  const Result<FenceState> state = fence_state(fence_fd);
  return state ? *state : FenceState::Failed;
}

} // namespace gstdrm::kms
