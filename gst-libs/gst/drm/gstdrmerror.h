/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/drm/drm-prelude.h>

G_BEGIN_DECLS

#define GST_DRM_ERROR (gst_drm_error_quark())

/**
 * GST_DRM_ERROR:
 *
 * The error domain of this library.
 *
 * Since: 0.1
 */

/**
 * GstDrmError:
 * @GST_DRM_ERROR_FORMAT: a string is no drm-format, a fourcc is not valid, or an interface has no
 *   name for a pair
 * @GST_DRM_ERROR_CAPS: caps do not describe a video format of DMA buffers
 * @GST_DRM_ERROR_LAYOUT: the planes of a buffer do not fit its format, its size or its memory
 * @GST_DRM_ERROR_DEVICE: a device cannot be opened, found or used
 * @GST_DRM_ERROR_ALLOCATION: a buffer cannot be allocated, or the process is out of memory
 * @GST_DRM_ERROR_IMPORT: a device refused a buffer, or the CPU cannot map one
 * @GST_DRM_ERROR_SYNC: a fence could not be read, merged, waited for or converted
 * @GST_DRM_ERROR_CONFLICT: the users of a buffer ask for what contradicts each other
 * @GST_DRM_ERROR_UNSUPPORTED: the kernel, the build or the driver lacks what is needed
 *
 * Codes of %GST_DRM_ERROR.
 *
 * Since: 0.1
 */
typedef enum {
  GST_DRM_ERROR_FORMAT,
  GST_DRM_ERROR_CAPS,
  GST_DRM_ERROR_LAYOUT,
  GST_DRM_ERROR_DEVICE,
  GST_DRM_ERROR_ALLOCATION,
  GST_DRM_ERROR_IMPORT,
  GST_DRM_ERROR_SYNC,
  GST_DRM_ERROR_CONFLICT,
  GST_DRM_ERROR_UNSUPPORTED,
} GstDrmError;

/* The error domain; use GST_DRM_ERROR. */
GST_DRM_API
GQuark gst_drm_error_quark(void) GST_DRM_NOEXCEPT;

G_END_DECLS
