/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/drm/drm-prelude.h>
#include <gst/drm/gstdrmallocator.h>
#include <gst/drm/gstdrmvideoinfo.h>

G_BEGIN_DECLS

#define GST_TYPE_DRM_BUFFER_POOL (gst_drm_buffer_pool_get_type())
/* A pool of the frames of one GstDrmAllocator. */
GST_DRM_API
G_DECLARE_FINAL_TYPE(GstDrmBufferPool, gst_drm_buffer_pool, GST, DRM_BUFFER_POOL, GstBufferPool)

/* A new, inactive pool; configure it with DMA_DRM caps, or with plain ones for linear frames. */
GST_DRM_API
GstBufferPool *gst_drm_buffer_pool_new(GstDrmAllocator *allocator) GST_DRM_NOEXCEPT;

/* The pool's counters in a structure: frames made, frames and bytes there are, frames in use. */
GST_DRM_API
GstStructure *gst_drm_buffer_pool_get_stats(GstDrmBufferPool *pool) GST_DRM_NOEXCEPT;

G_END_DECLS
