// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink: asks upstream to choose again, while the stream goes on.
#include "gstkmsdmabufsink.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

void sink_formats_changed(GstKmsDmabufSink *sink)
{
  GST_INFO_OBJECT(sink, "the offer has changed: asking upstream to choose again");
  // upstream events take no stream lock, so any thread may send them
  if (!gst_pad_push_event(GST_VIDEO_SINK_PAD(sink), gst_event_new_reconfigure()))
    GST_DEBUG_OBJECT(sink, "nothing upstream takes RECONFIGURE");
}

void SinkListener::formats_changed() noexcept
{
  sink_formats_changed(sink_);
}

} // namespace gstdrm
