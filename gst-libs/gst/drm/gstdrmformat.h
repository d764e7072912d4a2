/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/drm/drm-prelude.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

/**
 * GST_DRM_MODIFIER_LINEAR:
 *
 * DRM_FORMAT_MOD_LINEAR of drm_fourcc.h.
 *
 * Since: 0.1
 */
#define GST_DRM_MODIFIER_LINEAR G_GUINT64_CONSTANT(0)

/**
 * GST_DRM_MODIFIER_IMPLICIT:
 *
 * DRM_FORMAT_MOD_INVALID of drm_fourcc.h: as a member of a format set, the implicit modifier.
 *
 * Since: 0.1
 */
#define GST_DRM_MODIFIER_IMPLICIT G_GUINT64_CONSTANT(0x00ffffffffffffff)

/* Reads a drm-format string into fourcc and modifier. */
GST_DRM_API
gboolean gst_drm_format_parse(const gchar *str, guint32 *fourcc, guint64 *modifier,
                              GError **error) GST_DRM_NOEXCEPT;

/* Writes the drm-format string of a pair. */
GST_DRM_API
gchar *gst_drm_format_to_string(guint32 fourcc, guint64 modifier) GST_DRM_NOEXCEPT;

/* A name of the modifier for logs and errors: LINEAR, INTEL_Y_TILED. */
GST_DRM_API
gchar *gst_drm_modifier_describe(guint64 modifier) GST_DRM_NOEXCEPT;

/* The GstVideoFormat that names exactly this layout, or GST_VIDEO_FORMAT_UNKNOWN. */
GST_DRM_API
GstVideoFormat gst_drm_format_to_video_format(guint32 fourcc, guint64 modifier) GST_DRM_NOEXCEPT;

/* The pair that lies in memory as the GstVideoFormat does; 0 where there is none. */
GST_DRM_API
guint32 gst_drm_format_from_video_format(GstVideoFormat format, guint64 *modifier) GST_DRM_NOEXCEPT;

G_END_DECLS
