// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/base/gstpushsrc.h>

#define GST_TYPE_VA_DMABUF_SRC (gst_va_dmabuf_src_get_type())
G_DECLARE_FINAL_TYPE(GstVaDmabufSrc, gst_va_dmabuf_src, GST, VA_DMABUF_SRC, GstPushSrc)
