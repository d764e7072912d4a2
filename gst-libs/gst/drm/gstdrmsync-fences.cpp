// SPDX-License-Identifier: LGPL-2.1-or-later
// Fences by themselves, and the implicit ones of a dma-buf.
#include <chrono>

#include "core/sync_file.hpp"
#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmsync.h"

namespace {

using gstdrm::DmaBufAccess;
using gstdrm::FenceState;
using gstdrm::Result;
using gstdrm::UniqueFd;

static_assert(static_cast<int>(FenceState::Pending) == GST_DRM_FENCE_STATE_PENDING);
static_assert(static_cast<int>(FenceState::Signalled) == GST_DRM_FENCE_STATE_SIGNALLED);
static_assert(static_cast<int>(FenceState::Failed) == GST_DRM_FENCE_STATE_FAILED);
static_assert(static_cast<int>(DmaBufAccess::Read) == GST_DRM_ACCESS_READ);
static_assert(static_cast<int>(DmaBufAccess::Write) == GST_DRM_ACCESS_WRITE);

gboolean return_state(const Result<FenceState> &result, GstDrmFenceState *state, GError **error)
{
  if (!result) {
    gstdrm::propagate(error, result.error());
    return FALSE;
  }
  if (state)
    *state = static_cast<GstDrmFenceState>(*result);
  return TRUE;
}

DmaBufAccess to_access(GstDrmAccess access)
{
  return static_cast<DmaBufAccess>(access);
}

constexpr int kAllAccess = GST_DRM_ACCESS_READ | GST_DRM_ACCESS_WRITE;

} // namespace

/**
 * gst_drm_fence_get_state:
 * @fence_fd: a sync_file
 * @state: (out) (optional): its state
 * @error: location for a #GError, or %NULL
 *
 * Looks whether a fence has signalled; does not wait.
 *
 * Returns: %FALSE with %GST_DRM_ERROR_SYNC where @fence_fd is no sync_file
 *
 * Since: 0.1
 */
gboolean gst_drm_fence_get_state(gint fence_fd, GstDrmFenceState *state, GError **error) noexcept
try {
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  return return_state(gstdrm::fence_state(fence_fd), state, error);
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}

/**
 * gst_drm_fence_wait:
 * @fence_fd: a sync_file
 * @timeout: nanoseconds to wait at most, or %GST_CLOCK_TIME_NONE
 * @state: (out) (optional): its state then; %GST_DRM_FENCE_STATE_PENDING when the time is over
 * @error: location for a #GError, or %NULL
 *
 * Sleeps until the fence signals. Not for a streaming thread where a device can wait instead.
 *
 * Returns: %FALSE with %GST_DRM_ERROR_SYNC where @fence_fd is no sync_file or cannot be waited for
 *
 * Since: 0.1
 */
gboolean gst_drm_fence_wait(gint fence_fd, GstClockTime timeout, GstDrmFenceState *state,
                            GError **error) noexcept
try {
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  constexpr GstClockTime kLongest = G_MAXINT64 / 2;
  const std::chrono::nanoseconds limit(
      GST_CLOCK_TIME_IS_VALID(timeout) ? static_cast<gint64>(MIN(timeout, kLongest)) : -1);
  return return_state(gstdrm::fence_wait(fence_fd, limit), state, error);
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}

/**
 * gst_drm_dmabuf_export_fence:
 * @dmabuf_fd: a dma-buf
 * @access: what the caller is about to do with it
 * @error: location for a #GError, or %NULL
 *
 * The implicit fences that this access has to wait for (DMA_BUF_IOCTL_EXPORT_SYNC_FILE): of writers
 * for %GST_DRM_ACCESS_READ, of all users for %GST_DRM_ACCESS_WRITE.
 *
 * Returns: a sync_file, which the caller closes; -1 with %GST_DRM_ERROR_UNSUPPORTED before
 * Linux 6.0 and for what is no dma-buf, else %GST_DRM_ERROR_SYNC
 *
 * Since: 0.1
 */
gint gst_drm_dmabuf_export_fence(gint dmabuf_fd, GstDrmAccess access, GError **error) noexcept
try {
  g_return_val_if_fail((access & kAllAccess) != 0 && (access & ~kAllAccess) == 0, -1);
  g_return_val_if_fail(error == nullptr || *error == nullptr, -1);

  Result<UniqueFd> fence = gstdrm::dmabuf_export_fence(dmabuf_fd, to_access(access));
  if (!fence) {
    gstdrm::propagate(error, fence.error());
    return -1;
  }
  return fence->release();
} catch (...) {
  return gstdrm::caught(-1, __func__, error);
}

/**
 * gst_drm_dmabuf_import_fence:
 * @dmabuf_fd: a dma-buf
 * @fence_fd: a sync_file; it stays the caller's
 * @access: what the work behind @fence_fd does with the dma-buf
 * @error: location for a #GError, or %NULL
 *
 * Makes a fence one of the dma-buf's implicit fences (DMA_BUF_IOCTL_IMPORT_SYNC_FILE).
 *
 * Returns: %FALSE with %GST_DRM_ERROR_UNSUPPORTED before Linux 6.0 and for what is no dma-buf, else
 *   %GST_DRM_ERROR_SYNC
 *
 * Since: 0.1
 */
gboolean gst_drm_dmabuf_import_fence(gint dmabuf_fd, gint fence_fd, GstDrmAccess access,
                                     GError **error) noexcept
try {
  g_return_val_if_fail((access & kAllAccess) != 0 && (access & ~kAllAccess) == 0, FALSE);
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  const Result<void> imported = gstdrm::dmabuf_import_fence(dmabuf_fd, fence_fd, to_access(access));
  if (!imported) {
    gstdrm::propagate(error, imported.error());
    return FALSE;
  }
  return TRUE;
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}
