// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/base/gstbasetransform.h>

#define GST_TYPE_VA_DMABUF_CONVERT (gst_va_dmabuf_convert_get_type())
G_DECLARE_FINAL_TYPE(GstVaDmabufConvert, gst_va_dmabuf_convert, GST, VA_DMABUF_CONVERT,
                     GstBaseTransform)
