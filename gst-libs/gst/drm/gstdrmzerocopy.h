/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/drm/drm-prelude.h>

G_BEGIN_DECLS

#define GST_TYPE_DRM_ZERO_COPY (gst_drm_zero_copy_get_type())

/**
 * GstDrmZeroCopy:
 * @GST_DRM_ZERO_COPY_PREFER: copy where there is no other way, count the copy in `drm-stats` and
 *   announce the first one on the bus
 * @GST_DRM_ZERO_COPY_REQUIRE: an error in place of a copy
 *
 * What an element does about a frame that the CPU would have to copy or write. It is the type of
 * the `zero-copy` property of every element of gst-drm.
 *
 * Since: 0.1
 */
typedef enum {
  GST_DRM_ZERO_COPY_PREFER,
  GST_DRM_ZERO_COPY_REQUIRE,
} GstDrmZeroCopy;

/* The GType of GstDrmZeroCopy. */
GST_DRM_API
GType gst_drm_zero_copy_get_type(void) GST_DRM_NOEXCEPT;

G_END_DECLS
