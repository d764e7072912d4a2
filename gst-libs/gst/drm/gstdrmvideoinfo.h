/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/drm/drm-prelude.h>
#include <gst/video/video.h>

G_BEGIN_DECLS

/**
 * GST_DRM_VIDEO_FORMAT_DMA_DRM: (skip)
 *
 * The opaque pseudo-format of a layout that GstVideoFormat has no name for:
 * GST_VIDEO_FORMAT_DMA_DRM where GStreamer has it (1.24), GST_VIDEO_FORMAT_ENCODED, which has no
 * planes either, before.
 *
 * Since: 0.1
 */
#if GST_CHECK_VERSION(1, 24, 0)
#define GST_DRM_VIDEO_FORMAT_DMA_DRM GST_VIDEO_FORMAT_DMA_DRM
#else
#define GST_DRM_VIDEO_FORMAT_DMA_DRM GST_VIDEO_FORMAT_ENCODED
#endif

typedef struct _GstDrmVideoInfo GstDrmVideoInfo;

/**
 * GstDrmVideoInfo:
 * @vinfo: size, frame rate, colorimetry; its format is the GstVideoFormat of a linear or
 * named-tiling pair, else %GST_DRM_VIDEO_FORMAT_DMA_DRM
 * @drm_fourcc: DRM fourcc (drm_fourcc.h); 0 while unset
 * @drm_modifier: DRM format modifier
 *
 * A video format of DMA buffers. The layout is that of upstream's GstVideoInfoDmaDrm.
 *
 * Since: 0.1
 */
struct _GstDrmVideoInfo {
  GstVideoInfo vinfo;

  /*< private >*/
  /* Public in C. Hidden from language bindings, which would read a wrong place, because they take
   * GstVideoInfo for smaller than it is. */
  guint32 drm_fourcc;
  guint64 drm_modifier;

  guint32 _gst_reserved[GST_PADDING_LARGE];
};

#define GST_TYPE_DRM_VIDEO_INFO (gst_drm_video_info_get_type())

/* The GType of GstDrmVideoInfo. */
GST_DRM_API
GType gst_drm_video_info_get_type(void) GST_DRM_NOEXCEPT;

/* Sets a structure that the caller owns to no format. */
GST_DRM_API
void gst_drm_video_info_init(GstDrmVideoInfo *info) GST_DRM_NOEXCEPT;

/* A structure on the heap, set to no format. */
GST_DRM_API
GstDrmVideoInfo *gst_drm_video_info_new(void) GST_DRM_NOEXCEPT;

/* A copy on the heap. */
GST_DRM_API
GstDrmVideoInfo *gst_drm_video_info_copy(const GstDrmVideoInfo *info) GST_DRM_NOEXCEPT;

/* A structure on the heap, read from caps; NULL where they are no format of DMA buffers. */
GST_DRM_API
GstDrmVideoInfo *gst_drm_video_info_new_from_caps(const GstCaps *caps) GST_DRM_NOEXCEPT;

/* The field drm_fourcc, for language bindings. */
GST_DRM_API
guint32 gst_drm_video_info_get_fourcc(const GstDrmVideoInfo *info) GST_DRM_NOEXCEPT;

/* The field drm_modifier, for language bindings. */
GST_DRM_API
guint64 gst_drm_video_info_get_modifier(const GstDrmVideoInfo *info) GST_DRM_NOEXCEPT;

/* Frees what is on the heap. */
GST_DRM_API
void gst_drm_video_info_free(GstDrmVideoInfo *info) GST_DRM_NOEXCEPT;

/* Reads fixed caps: DMA_DRM, memory:DMABuf or plain. */
GST_DRM_API
gboolean gst_drm_video_info_from_caps(GstDrmVideoInfo *info, const GstCaps *caps) GST_DRM_NOEXCEPT;

/* Reads fixed caps; where they are no format of DMA buffers, the error says why. */
GST_DRM_API
gboolean gst_drm_video_info_from_caps_full(GstDrmVideoInfo *info, const GstCaps *caps,
                                           GError **error) GST_DRM_NOEXCEPT;

/* DMA_DRM caps of the structure. */
GST_DRM_API
GstCaps *gst_drm_video_info_to_caps(const GstDrmVideoInfo *info) GST_DRM_NOEXCEPT;

/* Makes an info of a GstVideoInfo whose frames are laid out as the modifier says. */
GST_DRM_API
gboolean gst_drm_video_info_from_video_info(GstDrmVideoInfo *info, const GstVideoInfo *vinfo,
                                            guint64 modifier) GST_DRM_NOEXCEPT;

/* The GstVideoInfo of the same format in plain memory. */
GST_DRM_API
gboolean gst_drm_video_info_to_video_info(const GstDrmVideoInfo *info,
                                          GstVideoInfo *vinfo) GST_DRM_NOEXCEPT;

/* Whether fourcc, modifier and GstVideoInfo are equal. */
GST_DRM_API
gboolean gst_drm_video_info_is_equal(const GstDrmVideoInfo *a,
                                     const GstDrmVideoInfo *b) GST_DRM_NOEXCEPT;

/* Whether caps are fixed and have memory:DMABuf and format=DMA_DRM. */
GST_DRM_API
gboolean gst_drm_is_dma_drm_caps(const GstCaps *caps) GST_DRM_NOEXCEPT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(GstDrmVideoInfo, gst_drm_video_info_free)

/* A structure on the heap, made of a pair and a size; NULL with an error where they are invalid. */
GST_DRM_API
GstDrmVideoInfo *gst_drm_video_info_new_from_format(guint32 fourcc, guint64 modifier, guint width,
                                                    guint height, GError **error) GST_DRM_NOEXCEPT;

/* Fills a structure of the caller from a pair and a size; FALSE with an error where invalid. */
GST_DRM_API
gboolean gst_drm_video_info_set_format(GstDrmVideoInfo *info, guint32 fourcc, guint64 modifier,
                                       guint width, guint height, GError **error) GST_DRM_NOEXCEPT;

G_END_DECLS
