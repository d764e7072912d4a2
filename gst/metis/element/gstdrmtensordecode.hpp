// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/base/gstbasetransform.h>

#define GST_TYPE_DRM_TENSOR_DECODE (gst_drm_tensor_decode_get_type())
G_DECLARE_FINAL_TYPE(GstDrmTensorDecode, gst_drm_tensor_decode, GST, DRM_TENSOR_DECODE,
                     GstBaseTransform)
GST_ELEMENT_REGISTER_DECLARE(drmtensordecode)
