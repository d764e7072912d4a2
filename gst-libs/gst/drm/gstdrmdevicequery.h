/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/drm/drm-prelude.h>

G_BEGIN_DECLS

/* For a consumer: says in the allocation query on which DRM device it imports. */
GST_DRM_API
gboolean gst_drm_query_add_device(GstQuery *query, gint device_fd) GST_DRM_NOEXCEPT;

/* For a producer: the device that gst_drm_query_add_device() named. */
GST_DRM_API
gboolean gst_drm_query_get_device(GstQuery *query, guint64 *device) GST_DRM_NOEXCEPT;

G_END_DECLS
