// SPDX-License-Identifier: LGPL-2.1-or-later
#include "acquire_fence.hpp"

#include <cerrno>
#include <string>

#include <gst/drm/core/errno_text.hpp>

namespace gstdrm {
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
