// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_sync_worker.hpp"

#include <gst/drm/core/sync_file.hpp>

#include "va_surface.hpp"

namespace gstdrm::va {
namespace {

Result<void> wait_for_device(const SyncJob &job)
{
  if (!job.fence)
    return sync_surface(*job.surface);
  const auto state = fence_wait(job.fence.get(), kDeviceLimit);
  if (!state)
    return state.error();
  if (*state == FenceState::Pending)
    return job.surface->display().error(ErrorCode::Sync, "the fence of a picture",
                                        VA_STATUS_ERROR_TIMEDOUT);
  return {};
}

} // namespace

SyncWorker::SyncWorker() : JobWorker(wait_for_device) {}

} // namespace gstdrm::va
