// SPDX-License-Identifier: LGPL-2.1-or-later
// A frame's planes one by one, for language bindings, which cannot read an array of structures that
// lies in another structure.
#include <algorithm>

#include "gstdrmframe.h"

/**
 * gst_drm_frame_get_plane:
 * @frame: a #GstDrmFrame
 * @index: from 0 on
 * @plane: (out caller-allocates): a #GstDrmFramePlane
 *
 * A copy of one plane. Its descriptor is borrowed from the buffer, as that of @frame is: neither is
 * to be used after the buffer was given back, and neither is to be closed.
 *
 * Returns: %FALSE where @index is beyond the last plane; @plane then has an fd of -1
 *
 * Since: 0.1
 */
gboolean gst_drm_frame_get_plane(const GstDrmFrame *frame, guint index,
                                 GstDrmFramePlane *plane) noexcept
{
  g_return_val_if_fail(frame != nullptr, FALSE);
  g_return_val_if_fail(plane != nullptr, FALSE);

  // a frame that its owner filled by hand may say any number
  if (index >= std::min<guint>(frame->n_planes, GST_DRM_MAX_PLANES)) {
    *plane = GstDrmFramePlane{};
    plane->fd = -1;
    return FALSE;
  }
  *plane = frame->planes[index];
  return TRUE;
}
