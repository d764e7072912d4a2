// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink: the GObject, a shell around KmsSink.
#pragma once

#include <gst/gst.h>
#include <gst/video/gstvideosink.h>

#define GST_TYPE_KMS_DMABUF_SINK (gst_kms_dmabuf_sink_get_type())
G_DECLARE_FINAL_TYPE(GstKmsDmabufSink, gst_kms_dmabuf_sink, GST, KMS_DMABUF_SINK, GstVideoSink)

namespace gstdrm {
class KmsSink;
}

struct _GstKmsDmabufSink {
  GstVideoSink parent;
  gstdrm::KmsSink *sink; // made in init, deleted in finalize
};

GST_DEBUG_CATEGORY_EXTERN(gst_kms_dmabuf_sink_debug);
