// SPDX-License-Identifier: LGPL-2.1-or-later
// The GObject shell of egldmabufupload: each virtual function calls a method of EglUploader.
#pragma once

#include <gst/gl/gl.h>

G_BEGIN_DECLS

#define GST_TYPE_EGL_DMABUF_UPLOAD (gst_egl_dmabuf_upload_get_type())
#define GST_EGL_DMABUF_UPLOAD(obj)                                                                 \
  (G_TYPE_CHECK_INSTANCE_CAST((obj), GST_TYPE_EGL_DMABUF_UPLOAD, GstEglDmaBufUpload))

namespace gstdrm {
class EglUploader;
}

struct GstEglDmaBufUpload {
  GstGLBaseFilter parent;
  gstdrm::EglUploader *uploader; // made in init, deleted in finalize
};

struct GstEglDmaBufUploadClass {
  GstGLBaseFilterClass parent_class;
};

GType gst_egl_dmabuf_upload_get_type(void);
GST_ELEMENT_REGISTER_DECLARE(egldmabufupload)

G_END_DECLS

GST_DEBUG_CATEGORY_EXTERN(gst_egl_dmabuf_upload_debug);
