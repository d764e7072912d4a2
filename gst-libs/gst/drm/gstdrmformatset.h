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

/* The GType of GstDrmFormatSet. */
GST_DRM_API
GType gst_drm_format_set_get_type(void) GST_DRM_NOEXCEPT;

/* An empty set, to be filled while it has one owner. */
GST_DRM_API
GstDrmFormatSet *gst_drm_format_set_new(void) GST_DRM_NOEXCEPT;

/* All pairs of DMA_DRM and memory:DMABuf caps; NULL where the caps take any format. */
GST_DRM_API
GstDrmFormatSet *gst_drm_format_set_new_from_caps(const GstCaps *caps) GST_DRM_NOEXCEPT;

/* Shares the set, which is immutable from then on. */
GST_DRM_API
GstDrmFormatSet *gst_drm_format_set_ref(GstDrmFormatSet *set) GST_DRM_NOEXCEPT;

/* Gives one reference up. */
GST_DRM_API
void gst_drm_format_set_unref(GstDrmFormatSet *set) GST_DRM_NOEXCEPT;

/* A new set with the same pairs, which may be added to. */
GST_DRM_API
GstDrmFormatSet *gst_drm_format_set_copy(const GstDrmFormatSet *set) GST_DRM_NOEXCEPT;

/* Adds a pair; FALSE where it is there already or the fourcc is none. */
GST_DRM_API
gboolean gst_drm_format_set_add(GstDrmFormatSet *set, guint32 fourcc,
                                guint64 modifier) GST_DRM_NOEXCEPT;

/* Whether the pair is in the set; a SAND modifier without a column height stands for each. */
GST_DRM_API
gboolean gst_drm_format_set_contains(const GstDrmFormatSet *set, guint32 fourcc,
                                     guint64 modifier) GST_DRM_NOEXCEPT;

/* How many pairs there are. */
GST_DRM_API
guint gst_drm_format_set_get_size(const GstDrmFormatSet *set) GST_DRM_NOEXCEPT;

/* The pair at an index of the sorted set. */
GST_DRM_API
gboolean gst_drm_format_set_get(const GstDrmFormatSet *set, guint index, guint32 *fourcc,
                                guint64 *modifier) GST_DRM_NOEXCEPT;

/* All modifiers of one fourcc, linear first: what an allocator chooses from. */
GST_DRM_API
guint64 *gst_drm_format_set_get_modifiers(const GstDrmFormatSet *set, guint32 fourcc,
                                          guint *n_modifiers) GST_DRM_NOEXCEPT;

/* The pairs that both have; implicit meets implicit only. */
GST_DRM_API
GstDrmFormatSet *gst_drm_format_set_intersect(const GstDrmFormatSet *a,
                                              const GstDrmFormatSet *b) GST_DRM_NOEXCEPT;

/* Intersects two sets, with a choice of what the implicit modifier meets. */
GST_DRM_API
GstDrmFormatSet *gst_drm_format_set_intersect_full(const GstDrmFormatSet *a,
                                                   const GstDrmFormatSet *b,
                                                   GstDrmFormatSetFlags flags) GST_DRM_NOEXCEPT;

/* The pairs that either has. */
GST_DRM_API
GstDrmFormatSet *gst_drm_format_set_union(const GstDrmFormatSet *a,
                                          const GstDrmFormatSet *b) GST_DRM_NOEXCEPT;

/* The pairs of the first that the second does not have. */
GST_DRM_API
GstDrmFormatSet *gst_drm_format_set_subtract(const GstDrmFormatSet *a,
                                             const GstDrmFormatSet *b) GST_DRM_NOEXCEPT;

/* Whether the second has every pair of the first. */
GST_DRM_API
gboolean gst_drm_format_set_is_subset(const GstDrmFormatSet *a,
                                      const GstDrmFormatSet *b) GST_DRM_NOEXCEPT;

/* Whether both have the same pairs. */
GST_DRM_API
gboolean gst_drm_format_set_is_equal(const GstDrmFormatSet *a,
                                     const GstDrmFormatSet *b) GST_DRM_NOEXCEPT;

/* DMA_DRM caps with every pair of the set. */
GST_DRM_API
GstCaps *gst_drm_format_set_to_caps(const GstDrmFormatSet *set) GST_DRM_NOEXCEPT;

/* Plain video/x-raw caps of the linear pairs, for peers that know no DMA_DRM. */
GST_DRM_API
GstCaps *gst_drm_format_set_to_raw_caps(const GstDrmFormatSet *set) GST_DRM_NOEXCEPT;

/* The set as text, for logs and errors. */
GST_DRM_API
gchar *gst_drm_format_set_to_string(const GstDrmFormatSet *set) GST_DRM_NOEXCEPT;

/* As gst_caps_intersect_full() with FIRST, in linear time for drm-format lists of any length. */
GST_DRM_API
GstCaps *gst_drm_caps_intersect(const GstCaps *first, const GstCaps *second) GST_DRM_NOEXCEPT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(GstDrmFormatSet, gst_drm_format_set_unref)

/* The fourccs of the set, each once. */
GST_DRM_API
guint32 *gst_drm_format_set_get_fourccs(const GstDrmFormatSet *set,
                                        guint *n_fourccs) GST_DRM_NOEXCEPT;

G_END_DECLS
