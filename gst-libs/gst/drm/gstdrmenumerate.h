/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/drm/drm-prelude.h>
#include <gst/drm/gstdrmformatset.h>

G_BEGIN_DECLS

/**
 * GstDrmSourceKind:
 * @GST_DRM_SOURCE_KIND_KMS: a plane of a display controller, what it scans out (IN_FORMATS)
 * @GST_DRM_SOURCE_KIND_GBM: a GPU's allocator
 * @GST_DRM_SOURCE_KIND_EGL: an EGL display, what it imports
 * @GST_DRM_SOURCE_KIND_VA: a VA-API display, what it exports
 * @GST_DRM_SOURCE_KIND_V4L2: a queue of a V4L2 node
 * @GST_DRM_SOURCE_KIND_VULKAN: a physical device of Vulkan, what it imports
 * @GST_DRM_SOURCE_KIND_WAYLAND: a Wayland compositor, what it takes
 *
 * Which interface says what a device can take.
 *
 * Since: 0.1
 */
typedef enum {
  GST_DRM_SOURCE_KIND_KMS,
  GST_DRM_SOURCE_KIND_GBM,
  GST_DRM_SOURCE_KIND_EGL,
  GST_DRM_SOURCE_KIND_VA,
  GST_DRM_SOURCE_KIND_V4L2,
  GST_DRM_SOURCE_KIND_VULKAN,
  GST_DRM_SOURCE_KIND_WAYLAND,
} GstDrmSourceKind;

typedef struct _GstDrmSource GstDrmSource;

#define GST_TYPE_DRM_SOURCE (gst_drm_source_get_type())

/* The GType of GstDrmSource. */
GST_DRM_API
GType gst_drm_source_get_type(void) GST_DRM_NOEXCEPT;

/* Shares the source, which is immutable. */
GST_DRM_API
GstDrmSource *gst_drm_source_ref(GstDrmSource *source) GST_DRM_NOEXCEPT;

/* Gives one reference up. */
GST_DRM_API
void gst_drm_source_unref(GstDrmSource *source) GST_DRM_NOEXCEPT;

/* Which interface was asked. */
GST_DRM_API
GstDrmSourceKind gst_drm_source_get_kind(const GstDrmSource *source) GST_DRM_NOEXCEPT;

/* A name that no other source of this machine has: "kms:card0:31". */
GST_DRM_API
const gchar *gst_drm_source_get_name(const GstDrmSource *source) GST_DRM_NOEXCEPT;

/* A description of the source for a person, such as "primary plane". */
GST_DRM_API
const gchar *gst_drm_source_get_description(const GstDrmSource *source) GST_DRM_NOEXCEPT;

/* The path of the device's node; NULL where it has none. */
GST_DRM_API
const gchar *gst_drm_source_get_device(const GstDrmSource *source) GST_DRM_NOEXCEPT;

/* The driver's name; NULL where it is not known. */
GST_DRM_API
const gchar *gst_drm_source_get_driver(const GstDrmSource *source) GST_DRM_NOEXCEPT;

/* Why the formats are not known; NULL where they are. */
GST_DRM_API
const gchar *gst_drm_source_get_problem(const GstDrmSource *source) GST_DRM_NOEXCEPT;

/* Every pair that the device names. */
GST_DRM_API
GstDrmFormatSet *gst_drm_source_get_formats(const GstDrmSource *source) GST_DRM_NOEXCEPT;

/* The pairs that an EGL display takes only as textures of GL_TEXTURE_EXTERNAL_OES. */
GST_DRM_API
GstDrmFormatSet *gst_drm_source_get_external_only(const GstDrmSource *source) GST_DRM_NOEXCEPT;

/* The number of memory planes of a pair; 0 where it is not known. */
GST_DRM_API
guint gst_drm_source_get_n_planes(const GstDrmSource *source, guint32 fourcc,
                                  guint64 modifier) GST_DRM_NOEXCEPT;

/* The planes of every display controller. */
GST_DRM_API
GPtrArray *gst_drm_enumerate_kms(void) GST_DRM_NOEXCEPT;

/* What libgbm allocates on every render node. */
GST_DRM_API
GPtrArray *gst_drm_enumerate_gbm(void) GST_DRM_NOEXCEPT;

/* The EGL display of every device. */
GST_DRM_API
GPtrArray *gst_drm_enumerate_egl(void) GST_DRM_NOEXCEPT;

/* What VA-API exports on every render node. */
GST_DRM_API
GPtrArray *gst_drm_enumerate_va(void) GST_DRM_NOEXCEPT;

/* The queues of every V4L2 node. */
GST_DRM_API
GPtrArray *gst_drm_enumerate_v4l2(void) GST_DRM_NOEXCEPT;

/* What every physical device of Vulkan imports. */
GST_DRM_API
GPtrArray *gst_drm_enumerate_vulkan(void) GST_DRM_NOEXCEPT;

/* What the Wayland compositor of this session takes. */
GST_DRM_API
GPtrArray *gst_drm_enumerate_wayland(void) GST_DRM_NOEXCEPT;

/* What a Wayland compositor takes of an application, for one of its surfaces. */
GST_DRM_API
GPtrArray *gst_drm_enumerate_wayland_surface(gpointer display, gpointer surface) GST_DRM_NOEXCEPT;

/* The sources of KMS, GBM, EGL, VA-API, V4L2, Vulkan and Wayland, in this order. */
GST_DRM_API
GPtrArray *gst_drm_enumerate_all(void) GST_DRM_NOEXCEPT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(GstDrmSource, gst_drm_source_unref)

G_END_DECLS
