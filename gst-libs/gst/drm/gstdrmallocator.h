/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/drm-prelude.h>
#include <gst/drm/gstdrmformatset.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

/**
 * GstDrmAllocatorKind:
 * @GST_DRM_ALLOCATOR_KIND_AUTO: the first of udmabuf, dma-heap, dumb, gbm and memfd that works here
 * @GST_DRM_ALLOCATOR_KIND_UDMABUF: sealed memfd pages exported through /dev/udmabuf
 * @GST_DRM_ALLOCATOR_KIND_DMA_HEAP: a heap under /dev/dma_heap
 * @GST_DRM_ALLOCATOR_KIND_DUMB: dumb buffers of a KMS device
 * @GST_DRM_ALLOCATOR_KIND_GBM: a GPU's own allocator, with a list of modifiers to choose from
 * @GST_DRM_ALLOCATOR_KIND_MEMFD: plain shared memory, which no device can import: the last resort
 *
 * Where buffers come from.
 *
 * Since: 0.1
 */
typedef enum {
  GST_DRM_ALLOCATOR_KIND_AUTO,
  GST_DRM_ALLOCATOR_KIND_UDMABUF,
  GST_DRM_ALLOCATOR_KIND_DMA_HEAP,
  GST_DRM_ALLOCATOR_KIND_DUMB,
  GST_DRM_ALLOCATOR_KIND_GBM,
  GST_DRM_ALLOCATOR_KIND_MEMFD,
} GstDrmAllocatorKind;

#define GST_TYPE_DRM_ALLOCATOR_KIND (gst_drm_allocator_kind_get_type())

/* The GType of GstDrmAllocatorKind. */
GST_DRM_API
GType gst_drm_allocator_kind_get_type(void) GST_DRM_NOEXCEPT;

#define GST_TYPE_DRM_ALLOCATOR (gst_drm_allocator_get_type())
#define GST_DRM_ALLOCATOR(obj)                                                                     \
  (G_TYPE_CHECK_INSTANCE_CAST((obj), GST_TYPE_DRM_ALLOCATOR, GstDrmAllocator))
#define GST_IS_DRM_ALLOCATOR(obj) (G_TYPE_CHECK_INSTANCE_TYPE((obj), GST_TYPE_DRM_ALLOCATOR))
#define GST_DRM_ALLOCATOR_CLASS(klass)                                                             \
  (G_TYPE_CHECK_CLASS_CAST((klass), GST_TYPE_DRM_ALLOCATOR, GstDrmAllocatorClass))
#define GST_DRM_ALLOCATOR_GET_CLASS(obj)                                                           \
  (G_TYPE_INSTANCE_GET_CLASS((obj), GST_TYPE_DRM_ALLOCATOR, GstDrmAllocatorClass))

typedef struct _GstDrmAllocator GstDrmAllocator;
typedef struct _GstDrmAllocatorClass GstDrmAllocatorClass;

/**
 * GstDrmAllocator:
 *
 * A #GstDmaBufAllocator that makes whole video frames for a fourcc and any of a list of modifiers.
 *
 * Since: 0.1
 */
struct _GstDrmAllocator {
  GstDmaBufAllocator parent;

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

/**
 * GstDrmAllocatorClass:
 * @parent_class: parent
 * @get_formats: (transfer full) (nullable): the pairs it can allocate, in a set that may be shared;
 *   %NULL: LINEAR of every fourcc whose linear layout is known. Called from any thread. An
 *   allocator that can make nothing at the moment gives an empty set. Callers use
 *   gst_drm_allocator_get_formats(), which turns %NULL into that linear set.
 * @alloc_frame: (transfer full): see gst_drm_allocator_alloc_frame()
 *
 * Since: 0.1
 */
struct _GstDrmAllocatorClass {
  GstDmaBufAllocatorClass parent_class;

  GstDrmFormatSet *(*get_formats)(GstDrmAllocator *allocator);
  GstBuffer *(*alloc_frame)(GstDrmAllocator *allocator, guint32 fourcc, guint width, guint height,
                            const guint64 *modifiers, guint n_modifiers,
                            const GstVideoAlignment *align, guint64 *modifier, GError **error);

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

/* The GType of GstDrmAllocator. */
GST_DRM_API
GType gst_drm_allocator_get_type(void); /* as G_DEFINE_TYPE() declares it */

/* Opens a heap, a DRM node or /dev/udmabuf, or the first that works, to allocate frames from. */
GST_DRM_API
GstDrmAllocator *gst_drm_allocator_new(GstDrmAllocatorKind kind, const gchar *device,
                                       GError **error) GST_DRM_NOEXCEPT;

/* Makes an allocator of dumb or GBM buffers on an open DRM device, which stays the caller's. */
GST_DRM_API
GstDrmAllocator *gst_drm_allocator_new_for_fd(GstDrmAllocatorKind kind, gint drm_fd,
                                              GError **error) GST_DRM_NOEXCEPT;

/* The kind of memory that the allocator allocates. */
GST_DRM_API
GstDrmAllocatorKind gst_drm_allocator_get_kind(GstDrmAllocator *allocator) GST_DRM_NOEXCEPT;

/* The path of the allocator's device node, or the name of its heap; NULL where it has neither. */
GST_DRM_API
const gchar *gst_drm_allocator_get_device(GstDrmAllocator *allocator) GST_DRM_NOEXCEPT;

/* A notice for the user, such as a limit that was reached; NULL where there is none. */
GST_DRM_API
gchar *gst_drm_allocator_get_notice(GstDrmAllocator *allocator) GST_DRM_NOEXCEPT;

/* The pairs that the allocator can make, as far as that can be found out. */
GST_DRM_API
GstDrmFormatSet *gst_drm_allocator_get_formats(GstDrmAllocator *allocator) GST_DRM_NOEXCEPT;

/* Allocates one frame; the driver chooses among the modifiers that are given. */
GST_DRM_API
GstBuffer *gst_drm_allocator_alloc_frame(GstDrmAllocator *allocator, guint32 fourcc, guint width,
                                         guint height, const guint64 *modifiers, guint n_modifiers,
                                         const GstVideoAlignment *align, guint64 *modifier,
                                         GError **error) GST_DRM_NOEXCEPT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(GstDrmAllocator, gst_object_unref)

G_END_DECLS
