/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/drm/drm-prelude.h>
#include <gst/drm/gstdrmallocator.h>
#include <gst/drm/gstdrmconstraints.h>
#include <gst/drm/gstdrmvideoinfo.h>

G_BEGIN_DECLS

/* Allocates buffers as reconciled constraints say. */
GST_DRM_API
GPtrArray *gst_drm_constraints_allocate(const GstDrmConstraints *constraints, guint n_buffers,
                                        GError **error) GST_DRM_NOEXCEPT;

/* Merges what all accessors ask for, and allocates buffers as the result says. */
GST_DRM_API
GPtrArray *gst_drm_constraints_reconcile_and_allocate(GPtrArray *accessors, guint n_buffers,
                                                      GstDrmConflict **conflict,
                                                      GError **error) GST_DRM_NOEXCEPT;

/* Opens an allocator of the memory that reconciled constraints name. */
GST_DRM_API
GstDrmAllocator *gst_drm_allocator_new_for_constraints(const GstDrmConstraints *constraints,
                                                       GError **error) GST_DRM_NOEXCEPT;

/* A configured, inactive pool of buffers as reconciled constraints say. */
GST_DRM_API
GstBufferPool *gst_drm_buffer_pool_new_for_constraints(const GstDrmConstraints *constraints,
                                                       GError **error) GST_DRM_NOEXCEPT;

/* For the configuration of a GstDrmBufferPool: its frames are laid out as the constraints say. */
GST_DRM_API
void gst_buffer_pool_config_set_drm_constraints(
    GstStructure *config, const GstDrmConstraints *constraints) GST_DRM_NOEXCEPT;

/* What the accessors of a buffer agreed on before it was allocated; NULL where nobody did. */
GST_DRM_API
const GstDrmConstraints *gst_buffer_get_drm_constraints(GstBuffer *buffer) GST_DRM_NOEXCEPT;

/* Whether a buffer is as an accessor asks; FALSE with what is not met, and what to ask for. */
GST_DRM_API
gboolean gst_drm_buffer_meets(GstBuffer *buffer, const GstDrmVideoInfo *info,
                              const GstDrmConstraints *constraints,
                              GError **error) GST_DRM_NOEXCEPT;

G_END_DECLS
