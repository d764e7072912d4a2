// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink: asks upstream to choose again while the stream goes on, and what happens to the
// frames of a pair that the display refused until upstream has.
#include "gstkmsdmabufsink.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

void SinkListener::formats_changed() noexcept
{
  sink_->state->refusals.request_choice();
}

GstFlowReturn sink_refuse_pair(GstVideoSink *sink, Display &display, const Error &why)
{
  if (why.code == ErrorCode::Unsupported)
    display.refuse(why); // else the caps query says already what does not fit
  return GST_KMS_DMABUF_SINK(sink)->state->refusals.refuse(why.message);
}

} // namespace gstdrm
