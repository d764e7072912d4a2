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

/* Whether two nodes, by st_rdev, are one device; FALSE with @error set: it cannot be told. */
GST_DRM_API
gboolean gst_drm_device_is_same(guint64 device_a, guint64 device_b, GError **error) GST_DRM_NOEXCEPT;

G_END_DECLS
