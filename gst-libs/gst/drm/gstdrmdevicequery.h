/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/drm/drm-prelude.h>

G_BEGIN_DECLS

GST_DRM_API
gboolean gst_drm_query_add_device(GstQuery *query, gint device_fd) GST_DRM_NOEXCEPT;

GST_DRM_API
gboolean gst_drm_query_get_device(GstQuery *query, guint64 *device) GST_DRM_NOEXCEPT;

G_END_DECLS
