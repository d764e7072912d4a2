/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every difference between GStreamer versions that this tree has to know of is here, and only here
 * (GST_DRM_VIDEO_FORMAT_DMA_DRM, which is public, aside). Never installed. */
#pragma once

#include <gst/drm/gstdrmvideoinfo.h>
