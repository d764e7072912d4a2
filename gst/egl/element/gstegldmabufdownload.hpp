// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/gl/gl.h>

G_BEGIN_DECLS

#define GST_TYPE_EGL_DMABUF_DOWNLOAD (gst_egl_dmabuf_download_get_type())
GType gst_egl_dmabuf_download_get_type(void);
GST_ELEMENT_REGISTER_DECLARE(egldmabufdownload)

G_END_DECLS
