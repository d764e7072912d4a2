/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/drm/drm-prelude.h>

G_BEGIN_DECLS

typedef struct _GstDrmFormatSet GstDrmFormatSet;

/**
 * GstDrmFormatSetFlags:
 * @GST_DRM_FORMAT_SET_FLAG_NONE: the implicit modifier meets the implicit modifier only
 * @GST_DRM_FORMAT_SET_FLAG_LINEAR_FOR_IMPLICIT: a fourcc that one side can only do implicitly meets
 *   the other side's LINEAR, as LINEAR
 *
 * How gst_drm_format_set_intersect_full() treats the implicit modifier.
 *
 * Since: 0.1
 */
typedef enum {
  GST_DRM_FORMAT_SET_FLAG_NONE = 0,
  GST_DRM_FORMAT_SET_FLAG_LINEAR_FOR_IMPLICIT = 1 << 0,
} GstDrmFormatSetFlags;

#define GST_TYPE_DRM_FORMAT_SET (gst_drm_format_set_get_type())
#define GST_TYPE_DRM_FORMAT_SET_FLAGS (gst_drm_format_set_flags_get_type())

GST_DRM_API
GType gst_drm_format_set_get_type(void) GST_DRM_NOEXCEPT;

GST_DRM_API
GType gst_drm_format_set_flags_get_type(void) GST_DRM_NOEXCEPT;

GST_DRM_API
GstDrmFormatSet *gst_drm_format_set_new(void) GST_DRM_NOEXCEPT;

GST_DRM_API
GstDrmFormatSet *gst_drm_format_set_new_from_caps(const GstCaps *caps) GST_DRM_NOEXCEPT;

GST_DRM_API
GstDrmFormatSet *gst_drm_format_set_ref(GstDrmFormatSet *set) GST_DRM_NOEXCEPT;

GST_DRM_API
void gst_drm_format_set_unref(GstDrmFormatSet *set) GST_DRM_NOEXCEPT;

GST_DRM_API
GstDrmFormatSet *gst_drm_format_set_copy(const GstDrmFormatSet *set) GST_DRM_NOEXCEPT;

GST_DRM_API
gboolean gst_drm_format_set_add(GstDrmFormatSet *set, guint32 fourcc,
                                guint64 modifier) GST_DRM_NOEXCEPT;

GST_DRM_API
gboolean gst_drm_format_set_contains(const GstDrmFormatSet *set, guint32 fourcc,
                                     guint64 modifier) GST_DRM_NOEXCEPT;

GST_DRM_API
guint gst_drm_format_set_get_size(const GstDrmFormatSet *set) GST_DRM_NOEXCEPT;

GST_DRM_API
gboolean gst_drm_format_set_get(const GstDrmFormatSet *set, guint index, guint32 *fourcc,
                                guint64 *modifier) GST_DRM_NOEXCEPT;

GST_DRM_API
guint64 *gst_drm_format_set_get_modifiers(const GstDrmFormatSet *set, guint32 fourcc,
                                          guint *n_modifiers) GST_DRM_NOEXCEPT;

GST_DRM_API
GstDrmFormatSet *gst_drm_format_set_intersect(const GstDrmFormatSet *a,
                                              const GstDrmFormatSet *b) GST_DRM_NOEXCEPT;

GST_DRM_API
GstDrmFormatSet *gst_drm_format_set_intersect_full(const GstDrmFormatSet *a,
                                                   const GstDrmFormatSet *b,
                                                   GstDrmFormatSetFlags flags) GST_DRM_NOEXCEPT;

GST_DRM_API
GstDrmFormatSet *gst_drm_format_set_union(const GstDrmFormatSet *a,
                                          const GstDrmFormatSet *b) GST_DRM_NOEXCEPT;

GST_DRM_API
GstDrmFormatSet *gst_drm_format_set_subtract(const GstDrmFormatSet *a,
                                             const GstDrmFormatSet *b) GST_DRM_NOEXCEPT;

GST_DRM_API
gboolean gst_drm_format_set_is_subset(const GstDrmFormatSet *a,
                                      const GstDrmFormatSet *b) GST_DRM_NOEXCEPT;

GST_DRM_API
gboolean gst_drm_format_set_is_equal(const GstDrmFormatSet *a,
                                     const GstDrmFormatSet *b) GST_DRM_NOEXCEPT;

GST_DRM_API
GstCaps *gst_drm_format_set_to_caps(const GstDrmFormatSet *set) GST_DRM_NOEXCEPT;

GST_DRM_API
GstCaps *gst_drm_format_set_to_raw_caps(const GstDrmFormatSet *set) GST_DRM_NOEXCEPT;

GST_DRM_API
gchar *gst_drm_format_set_to_string(const GstDrmFormatSet *set) GST_DRM_NOEXCEPT;

GST_DRM_API
GstCaps *gst_drm_caps_intersect(const GstCaps *first, const GstCaps *second) GST_DRM_NOEXCEPT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(GstDrmFormatSet, gst_drm_format_set_unref)

/* The fourccs of the set, each once. */
GST_DRM_API
guint32 *gst_drm_format_set_get_fourccs(const GstDrmFormatSet *set,
                                        guint *n_fourccs) GST_DRM_NOEXCEPT;

G_END_DECLS
