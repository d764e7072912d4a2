/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/drm/drm-prelude.h>

G_BEGIN_DECLS

#define GST_DRM_ERROR (gst_drm_error_quark ())
#define GST_TYPE_DRM_ERROR (gst_drm_error_get_type ())

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

GST_DRM_API
GQuark gst_drm_error_quark (void);

GST_DRM_API
GType gst_drm_error_get_type (void);

G_END_DECLS
