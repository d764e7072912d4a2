/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every difference between GStreamer versions that this tree has to know of is here, and only here
 * (GST_DRM_VIDEO_FORMAT_DMA_DRM, which is public, aside). Never installed. */
#pragma once

#include <gst/drm/gstdrmvideoinfo.h>

/* Table rows (initializers, trailing comma included) that name a GstVideoFormat of a newer
 * GStreamer. */
#if GST_CHECK_VERSION(1, 24, 0)
#define GST_DRM_ROWS_SINCE_1_24(...) __VA_ARGS__
#else
#define GST_DRM_ROWS_SINCE_1_24(...)
#endif

#if GST_CHECK_VERSION(1, 26, 0)
#define GST_DRM_ROWS_SINCE_1_26(...) __VA_ARGS__
#else
#define GST_DRM_ROWS_SINCE_1_26(...)
#endif

#if GST_CHECK_VERSION(1, 28, 0)
#define GST_DRM_ROWS_SINCE_1_28(...) __VA_ARGS__
#else
#define GST_DRM_ROWS_SINCE_1_28(...)
#endif

/* GstUniqueList, and with it decoders that say in their caps which tensors they take. */
#if GST_CHECK_VERSION(1, 28, 0)
#define GST_DRM_HAS_TENSOR_CAPS 1
#endif

/* Calls func(element, NULL) on a thread of GStreamer's, which holds a reference meanwhile. The first
 * parameter of `func` is a GstObject or a GstElement. */
#if GST_CHECK_VERSION(1, 28, 0)
#define GST_DRM_ELEMENT_CALL_ASYNC(element, func)                                                  \
  gst_object_call_async(GST_OBJECT(element), func, NULL)
#else
#define GST_DRM_ELEMENT_CALL_ASYNC(element, func)                                                  \
  gst_element_call_async(GST_ELEMENT(element), func, NULL, NULL)
#endif
