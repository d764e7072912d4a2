/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/drm/drm-prelude.h>
#include <gst/drm/gstdrmvideoinfo.h>

G_BEGIN_DECLS

/**
 * GST_DRM_MAX_PLANES:
 *
 * The most planes a frame has, auxiliary ones included: as many as the kernel's AddFB2 takes.
 *
 * Since: 0.1
 */
#define GST_DRM_MAX_PLANES 4

typedef struct _GstDrmFramePlane GstDrmFramePlane;
typedef struct _GstDrmFrame GstDrmFrame;

/**
 * GstDrmFramePlane:
 * @fd: (type int): descriptor of the dma-buf that holds the plane; borrowed from the buffer
 * @stride: bytes from one row to the next; opaque unless the layout is linear or a known tiling
 * @offset: bytes from the start of the dma-buf
 * @size: bytes in the whole dma-buf, as lseek(SEEK_END) says
 * @device: st_dev of the dma-buf
 * @inode: st_ino of the dma-buf: with @device it is the dma-buf's identity, whatever the number of
 *   the descriptor
 *
 * Where one plane of a frame lies.
 *
 * Since: 0.1
 */
struct _GstDrmFramePlane {
  gint fd;
  guint32 stride;
  guint64 offset;
  guint64 size;
  guint64 device;
  guint64 inode;

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

/**
 * GstDrmFrame:
 * @drm_fourcc: DRM fourcc
 * @drm_modifier: DRM format modifier; %GST_DRM_MODIFIER_IMPLICIT for an implicit one
 * @width: visible width in pixels
 * @height: visible height in pixels
 * @n_planes: memory planes, auxiliary planes included: 1 to %GST_DRM_MAX_PLANES
 * @planes: (array fixed-size=4): the planes; those from @n_planes on have an @fd of -1. In language
 *   bindings use gst_drm_frame_get_plane().
 *
 * What an importer needs to know of one buffer. Filled and checked by gst_drm_frame_from_buffer().
 *
 * Since: 0.1
 */
struct _GstDrmFrame {
  guint32 drm_fourcc;
  guint64 drm_modifier;
  guint width;
  guint height;
  guint n_planes;
  GstDrmFramePlane planes[GST_DRM_MAX_PLANES];

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

/* The planes of a buffer as an importer needs them, checked against format, size and memory. */
GST_DRM_API
gboolean gst_drm_frame_from_buffer(GstDrmFrame *frame, GstBuffer *buffer,
                                   const GstDrmVideoInfo *info, GError **error) GST_DRM_NOEXCEPT;

/* A copy of one plane; FALSE where there is none of that index. */
GST_DRM_API
gboolean gst_drm_frame_get_plane(const GstDrmFrame *frame, guint index,
                                 GstDrmFramePlane *plane) GST_DRM_NOEXCEPT;

G_END_DECLS
