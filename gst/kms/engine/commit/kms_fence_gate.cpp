// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_fence_gate.hpp"

#include <cerrno>
#include <cstdio>
#include <string>

namespace gstdrm::kms {

namespace {

std::string seconds(std::int64_t ns)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f s", static_cast<double>(ns) / 1e9);
  return text;
}

} // namespace

FenceGate::Hold FenceGate::hold(const SharedFence &fence, std::int64_t now_ns) const
{
  return fence ? Hold{false, time_limit(now_ns)} : Hold{};
}

FenceGate::Verdict FenceGate::look(const SharedFence &fence, Hold &hold, std::int64_t now_ns) const
{
  if (hold.open)
    return Verdict::Open;
  switch (fence ? ask_fence(fence->get()) : FenceState::Signalled) {
  case FenceState::Signalled:
    hold.open = true;
    return Verdict::Open;
  case FenceState::Pending:
    return now_ns < hold.give_up_at ? Verdict::Shut : Verdict::TimedOut;
  case FenceState::Failed:
    break;
  }
  return Verdict::Broken;
}

Error FenceGate::explain(Verdict verdict) const
{
  if (verdict == Verdict::Broken)
    return Error{ErrorCode::Sync,
                 "A frame was left out: its acquire fence signalled with an error, so the "
                 "producer's device did "
                 "not draw it. Look for a device reset in the kernel's log.",
                 EIO};
  return Error{ErrorCode::Sync,
               "A frame was left out: its acquire fence did not signal within " +
                   seconds(rules_.timeout_ns) +
                   ". The producer's device hangs or is slow; fence-timeout sets the limit.",
               ETIMEDOUT};
}

FenceGate::Verdict FenceGate::begin_wait(const SharedFence &fence, std::int64_t now_ns)
{
  verdict_.reset();
  wait_ = {false, kNever};
  const Verdict found = look(fence, wait_, now_ns);
  wait_.give_up_at = time_limit(now_ns);
  if (found == Verdict::Shut)
    awaited_ = fence;
  return found;
}

bool FenceGate::check_wait(std::int64_t now_ns)
{
  if (!awaited())
    return false;
  const Verdict found = look(awaited_, wait_, now_ns);
  if (found == Verdict::Shut)
    return false;
  verdict_ = found;
  return true;
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
