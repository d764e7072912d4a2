// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrmfencewait.hpp"

#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include <gst/drm/core/poll_wait.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/gstdrmsync.h>

namespace gstdrm {

namespace {

constexpr std::chrono::seconds kLimit{5};

} // namespace

Result<void> FenceWait::open()
{
  Result<WakeFd> wake = WakeFd::create();
  if (!wake)
    return wake.error();
  wake_ = std::move(*wake);
  return {};
}

Result<FenceEnd> FenceWait::wait(int fence_fd, const char *what, Stats &stats) const
{
  if (fence_fd < 0)
    return FenceEnd::Signalled;
  PollResult polled = poll_readable(fence_fd, deadline_after(std::chrono::nanoseconds(0)));
  if (polled.end == PollEnd::TimeIsOver) {
    stats.waits++;
    polled = poll_readable(fence_fd, deadline_after(kLimit), wake_.get());
  }
  if (polled.end == PollEnd::Woken)
    return FenceEnd::Interrupted;
  if (polled.end != PollEnd::Ready)
    return Error{ErrorCode::Sync,
                 std::string("Waited for ") + what + " for " + std::to_string(kLimit.count()) +
                     " s: the device that writes has not signalled its fence. Look for errors of "
                     "that device in the kernel's log.",
                 polled.end == PollEnd::Failed ? polled.sys_errno : ETIMEDOUT};
  GstDrmFenceState state = GST_DRM_FENCE_STATE_PENDING;
  GError *error = nullptr;
  if (!gst_drm_fence_get_state(fence_fd, &state, &error))
    return take_error(error);
  return state == GST_DRM_FENCE_STATE_FAILED ? FenceEnd::Failed : FenceEnd::Signalled;
}

} // namespace gstdrm
