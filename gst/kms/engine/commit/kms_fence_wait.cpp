// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_fence_wait.hpp"

#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

namespace gstdrm::kms {

namespace {

std::string seconds(std::int64_t ns)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f s", static_cast<double>(ns) / 1e9);
  return text;
}

} // namespace

FenceWait::Verdict FenceWait::look(std::int64_t now_ns)
{
  if (!is_pending())
    return verdict;
  switch (ask_fence(fence->get())) {
  case FenceState::Signalled:
    return verdict = Verdict::Signalled;
  case FenceState::Pending:
    return verdict = now_ns < give_up_at ? Verdict::Pending : Verdict::TimedOut;
  case FenceState::Failed:
    break;
  }
  return verdict = Verdict::Broken;
}

FenceWait FenceRules::wait_for(SharedFence fence, std::int64_t now_ns) const
{
  if (!fence)
    return {};
  const std::int64_t give_up_at = timeout_ns >= kNever - now_ns ? kNever : now_ns + timeout_ns;
  return {std::move(fence), give_up_at, FenceWait::Verdict::Pending};
}

Error FenceRules::explain(FenceWait::Verdict verdict) const
{
  if (verdict == FenceWait::Verdict::Broken)
    return Error{ErrorCode::Sync,
                 "A frame was left out: its acquire fence signalled with an error, so the "
                 "producer's device did "
                 "not draw it. Look for a device reset in the kernel's log.",
                 EIO};
  return Error{ErrorCode::Sync,
               "A frame was left out: its acquire fence did not signal within " +
                   seconds(timeout_ns) +
                   ". The producer's device hangs or is slow; fence-timeout sets the limit.",
               ETIMEDOUT};
}

// Drivers with GEM wait. For a driver without a prepare_fb() of its own,
// drm_atomic_helper_prepare_planes() calls drm_gem_plane_helper_prepare_fb() (since Linux 5.15);
// the other drivers in the kernel tree, vkms too, call it from their prepare_fb(). NVIDIA's own
// module has no implicit synchronisation (its README, "Direct Rendering Manager Kernel
// Modesetting").
bool waits_for_implicit_fences(std::string_view driver)
{
  return driver != "nvidia-drm";
}

} // namespace gstdrm::kms
