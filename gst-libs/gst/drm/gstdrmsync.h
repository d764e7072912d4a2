/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/drm/drm-prelude.h>

G_BEGIN_DECLS

typedef struct _GstDrmSyncMeta GstDrmSyncMeta;

/**
 * GstDrmSyncMeta:
 * @meta: parent
 *
 * The acquire and release fences of a buffer. The fences live in a state that shallow copies of
 * the buffer share, so that a release fence added to a copy reaches the producer's pool.
 *
 * Since: 0.1
 */
struct _GstDrmSyncMeta {
  GstMeta meta;

  /*< private >*/
  gpointer state;
};

/**
 * GstDrmFenceState:
 * @GST_DRM_FENCE_STATE_PENDING: not signalled yet
 * @GST_DRM_FENCE_STATE_SIGNALLED: signalled without an error
 * @GST_DRM_FENCE_STATE_FAILED: signalled with an error: the work it stands for was not done
 *
 * How far a fence is.
 *
 * Since: 0.1
 */
typedef enum {
  GST_DRM_FENCE_STATE_PENDING,
  GST_DRM_FENCE_STATE_SIGNALLED,
  GST_DRM_FENCE_STATE_FAILED,
} GstDrmFenceState;

/**
 * GstDrmAccess:
 * @GST_DRM_ACCESS_READ: DMA_BUF_SYNC_READ
 * @GST_DRM_ACCESS_WRITE: DMA_BUF_SYNC_WRITE
 *
 * What a user does with a dma-buf (linux/dma-buf.h).
 *
 * Since: 0.1
 */
typedef enum {
  GST_DRM_ACCESS_READ = 1 << 0,
  GST_DRM_ACCESS_WRITE = 1 << 1,
} GstDrmAccess;

#define GST_DRM_SYNC_META_API_TYPE (gst_drm_sync_meta_api_get_type())

/* The GType of the meta's API; use GST_DRM_SYNC_META_API_TYPE. */
GST_DRM_API
GType gst_drm_sync_meta_api_get_type(void) GST_DRM_NOEXCEPT;

/* Adds a meta without fences, or finds the one that is there. */
GST_DRM_API
GstDrmSyncMeta *gst_buffer_add_drm_sync_meta(GstBuffer *buffer) GST_DRM_NOEXCEPT;

/* The meta of a buffer, or NULL. */
GST_DRM_API
GstDrmSyncMeta *gst_buffer_get_drm_sync_meta(GstBuffer *buffer) GST_DRM_NOEXCEPT;

/* For a producer: whoever uses the buffer waits for this fence first. Takes the descriptor. */
GST_DRM_API
gboolean gst_drm_sync_meta_add_acquire_fence(GstDrmSyncMeta *meta, gint fence_fd,
                                             GError **error) GST_DRM_NOEXCEPT;

/* For a consumer: whoever writes to the memory next waits for this fence. Takes the descriptor. */
GST_DRM_API
gboolean gst_drm_sync_meta_add_release_fence(GstDrmSyncMeta *meta, gint fence_fd,
                                             GError **error) GST_DRM_NOEXCEPT;

/* All acquire fences as one sync_file, which the caller closes; -1 where there is none. */
GST_DRM_API
gint gst_drm_sync_meta_dup_acquire_fence(GstDrmSyncMeta *meta) GST_DRM_NOEXCEPT;

/* All release fences as one sync_file, which the caller closes; -1 where there is none. */
GST_DRM_API
gint gst_drm_sync_meta_dup_release_fence(GstDrmSyncMeta *meta) GST_DRM_NOEXCEPT;

/* Forgets all fences, for every buffer that shares them. */
GST_DRM_API
void gst_drm_sync_meta_clear(GstDrmSyncMeta *meta) GST_DRM_NOEXCEPT;

/* For a producer: says in the allocation query that it waits for release fences. */
GST_DRM_API
void gst_drm_query_announce_release_fences(GstQuery *query) GST_DRM_NOEXCEPT;

/* For a consumer: whether the producer announced that it waits for release fences. */
GST_DRM_API
gboolean gst_drm_query_has_release_fences(GstQuery *query) GST_DRM_NOEXCEPT;

/* Whether a fence is pending, has signalled or has failed; does not wait. */
GST_DRM_API
gboolean gst_drm_fence_get_state(gint fence_fd, GstDrmFenceState *state,
                                 GError **error) GST_DRM_NOEXCEPT;

/* Sleeps until a fence signals or the timeout is over. */
GST_DRM_API
gboolean gst_drm_fence_wait(gint fence_fd, GstClockTime timeout, GstDrmFenceState *state,
                            GError **error) GST_DRM_NOEXCEPT;

/* The implicit fences of a dma-buf that this access has to wait for, as a sync_file. */
GST_DRM_API
gint gst_drm_dmabuf_export_fence(gint dmabuf_fd, GstDrmAccess access,
                                 GError **error) GST_DRM_NOEXCEPT;

/* Makes a fence one of the implicit fences of a dma-buf. */
GST_DRM_API
gboolean gst_drm_dmabuf_import_fence(gint dmabuf_fd, gint fence_fd, GstDrmAccess access,
                                     GError **error) GST_DRM_NOEXCEPT;

/* Announces for all buffers of a pad, such as appsrc's, that release fences are waited for. */
GST_DRM_API
gulong gst_drm_pad_announce_release_fences(GstPad *pad) GST_DRM_NOEXCEPT;

G_END_DECLS
