// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "gstdmabuftransform.hpp"

G_BEGIN_DECLS

#define GST_TYPE_DMABUF_UPLOAD (gst_dmabuf_upload_get_type())

struct GstDmaBufUpload {
  GstDmaBufTransform parent;
};

struct GstDmaBufUploadClass {
  GstDmaBufTransformClass parent_class;
};

GType gst_dmabuf_upload_get_type(void);
GST_ELEMENT_REGISTER_DECLARE(dmabufupload)

G_END_DECLS
