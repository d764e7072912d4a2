// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame_wait.hpp"

#include <cerrno>
#include <chrono>
#include <string>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/sync_file.hpp>
#include <gst/drm/core/unique_fd.hpp>

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

namespace {

// `fd` is the answer of a function that leaves errno at 0 where there is no fence.
Result<UniqueFd> fence_or_none(int fd, int error, const char *whose)
{
  if (fd >= 0 || error == 0)
    return UniqueFd(fd);
  return Error{ErrorCode::Sync,
               std::string("There is no descriptor for the fence of ") + whose + " (" +
                   errno_text(error) +
                   "). Let go of frames sooner downstream, or raise the limit of open files "
                   "(ulimit -n)",
               error};
}

} // namespace

Result<UniqueFd> dup_acquire_fence(GstBuffer *buffer)
{
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  if (!meta)
    return UniqueFd();
  const int fd = gst_drm_sync_meta_dup_acquire_fence(meta);
  return fence_or_none(fd, errno, "a frame");
}

Result<UniqueFd> dup_acquire_fence(GstDrmTensorMeta *meta)
{
  const int fd = gst_drm_tensor_meta_dup_acquire_fence(meta);
  return fence_or_none(fd, errno, "a frame's tensors");
}

Result<UniqueFd> dup_release_fence(GstDrmSyncMeta *meta)
{
  const int fd = gst_drm_sync_meta_dup_release_fence(meta);
  return fence_or_none(fd, errno, "a frame that is still read");
}

} // namespace gstdrm
