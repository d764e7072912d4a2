// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "gstdmabuftransform.hpp"

G_BEGIN_DECLS

#define GST_TYPE_DMABUF_UPLOAD (gst_dmabuf_upload_get_type())
#define GST_DMABUF_UPLOAD(obj)                                                                     \
  (G_TYPE_CHECK_INSTANCE_CAST((obj), GST_TYPE_DMABUF_UPLOAD, GstDmaBufUpload))

struct GstDmaBufUploadState;

struct GstDmaBufUpload {
  GstDmaBufTransform parent;
  GstDmaBufUploadState *state;
};

struct GstDmaBufUploadClass {
  GstDmaBufTransformClass parent_class;
};

GType gst_dmabuf_upload_get_type(void);
GST_ELEMENT_REGISTER_DECLARE(dmabufupload)

G_END_DECLS
