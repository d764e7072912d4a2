// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_wait.hpp"

#include <chrono>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/sync_file.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "acquire_fence.hpp"

namespace gstdrm {
namespace {

// A GPU that hangs is reset by its driver within about ten seconds; what takes longer than this is
// lost for the viewer.
constexpr std::chrono::milliseconds kFenceLimit{5000};

} // namespace

Result<FenceEnd> wait_for_producer(int fence_fd, Stats &stats, const Interrupt &interrupt)
{
  if (fence_fd < 0)
    return FenceEnd::Signalled;
  const Result<Waited> waited = wait_for_fence(fence_fd, kFenceLimit, interrupt);
  if (!waited)
    return waited.error();
  if (*waited == Waited::Interrupted)
    return FenceEnd::Interrupted;
  if (*waited == Waited::Yes)
    stats.waits++;
  const Result<FenceState> state = fence_state(fence_fd);
  if (!state)
    return state.error();
  return *state == FenceState::Failed ? FenceEnd::Failed : FenceEnd::Signalled;
}

Result<Waited> wait_for_device(GstElement *element, GstBuffer *buffer, Stats &stats,
                               const Interrupt &interrupt)
{
  const Result<UniqueFd> fence = dup_acquire_fence(buffer);
  if (!fence)
    return fence.error();
  const Result<FenceEnd> acquired = wait_for_producer(fence->get(), stats, interrupt);
  if (!acquired)
    return acquired.error();
  if (*acquired == FenceEnd::Interrupted)
    return Waited::Interrupted;
  if (*acquired == FenceEnd::Failed)
    GST_WARNING_OBJECT(element,
                       "%" GST_PTR_FORMAT
                       ": the acquire fence signalled an error, the picture may be incomplete",
                       buffer);
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
