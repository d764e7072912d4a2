// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "gstdmabuftransform.hpp"

G_BEGIN_DECLS

#define GST_TYPE_DMABUF_DOWNLOAD (gst_dmabuf_download_get_type())

struct GstDmaBufDownload {
  GstDmaBufTransform parent;
};

struct GstDmaBufDownloadClass {
  GstDmaBufTransformClass parent_class;
};

GType gst_dmabuf_download_get_type(void);
GST_ELEMENT_REGISTER_DECLARE(dmabufdownload)

G_END_DECLS
