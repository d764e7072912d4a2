// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/base/gstbasetransform.h>

#define GST_TYPE_DRM_OVERLAY (gst_drm_overlay_get_type())
G_DECLARE_FINAL_TYPE(GstDrmOverlay, gst_drm_overlay, GST, DRM_OVERLAY, GstBaseTransform)
GST_ELEMENT_REGISTER_DECLARE(drmoverlay)
