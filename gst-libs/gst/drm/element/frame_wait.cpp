// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_wait.hpp"

#include <chrono>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/gstdrmsync.h>

#include "errors.hpp"

namespace gstdrm {
namespace {

// A GPU that hangs is reset by its driver within about ten seconds; what takes longer than this is
// lost for the viewer.
constexpr std::chrono::milliseconds kFenceLimit{5000};

Result<Waited> wait_for_acquire_fence(GstElement *element, GstBuffer *buffer,
                                      const Interrupt &interrupt)
{
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  const UniqueFd fence(meta ? gst_drm_sync_meta_dup_acquire_fence(meta) : -1);
  if (!fence)
    return Waited::No;
  const Result<Waited> waited = wait_for_fence(fence.get(), kFenceLimit, interrupt);
  if (!waited || *waited == Waited::Interrupted)
    return waited;
  GError *error = nullptr;
  GstDrmFenceState state = GST_DRM_FENCE_STATE_PENDING;
  if (!gst_drm_fence_get_state(fence.get(), &state, &error))
    return take_error(error);
  if (state == GST_DRM_FENCE_STATE_FAILED)
    GST_WARNING_OBJECT(element,
                       "%" GST_PTR_FORMAT
                       ": the acquire fence signalled an error, the picture may be incomplete",
                       buffer);
  return waited;
}

} // namespace

Result<Waited> wait_for_device(GstElement *element, GstBuffer *buffer, Stats &stats,
                               const Interrupt &interrupt)
{
  const Result<Waited> acquired = wait_for_acquire_fence(element, buffer, interrupt);
  if (!acquired || *acquired == Waited::Interrupted)
    return acquired;
  if (*acquired == Waited::Yes)
    stats.waits++;
  for (guint i = 0; i < gst_buffer_n_memory(buffer); i++) {
    GstMemory *memory = gst_buffer_peek_memory(buffer, i);
    if (!gst_is_dmabuf_memory(memory))
      continue;
    const Result<Waited> waited =
        wait_for_writers(gst_dmabuf_memory_get_fd(memory), kFenceLimit, interrupt);
    if (!waited || *waited == Waited::Interrupted)
      return waited;
    if (*waited == Waited::Yes)
      stats.waits++;
  }
  return Waited::No;
}

} // namespace gstdrm
