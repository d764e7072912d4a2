// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvadmabuffences.hpp"

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/gstdrmsync.h>

#include "engine/va_surface.hpp"

namespace gstdrm::va {

bool DrawFences::attach(GstBuffer *buffer, const Surface &surface)
{
  leaves_fences_ = leaves_fences_ && has_fences(buffer, surface);
  return leaves_fences_;
}

bool DrawFences::has_fences(GstBuffer *buffer, const Surface &surface)
{
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  if (!meta)
    meta = gst_buffer_add_drm_sync_meta(buffer);
  for (guint i = 0; i < gst_buffer_n_memory(buffer); ++i) {
    const int fd = gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(buffer, i));
    UniqueFd fence(gst_drm_dmabuf_export_fence(fd, GST_DRM_ACCESS_READ, nullptr));
    if (!fence)
      return false;
    GstDrmFenceState state = GST_DRM_FENCE_STATE_SIGNALLED;
    (void)gst_drm_fence_get_state(fence.get(), &state, nullptr);
    if (state == GST_DRM_FENCE_STATE_SIGNALLED)
      continue;
    seen_pending_ = true;
    if (!gst_drm_sync_meta_add_acquire_fence(meta, fence.release(), nullptr))
      return false;
  }
  if (seen_pending_)
    return true;
  // The kernel gives a signalled fence if the drawing is done, or if the driver attached none. In
  // the second case the surface is still busy.
  const auto busy = is_rendering(surface);
  return busy && !*busy;
}

} // namespace gstdrm::va
