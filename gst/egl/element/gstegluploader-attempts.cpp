// SPDX-License-Identifier: LGPL-2.1-or-later
// Negotiations that a change of the offer has spoiled are done again. GstBaseTransform asks the
// element three times in one negotiation (transform_caps, fixate_caps, set_caps). Another thread
// may change the offer in between: it sets a property, or its query notices another OpenGL context.
// Such a failure is no refusal: negotiation is repeated.
#include "gstegldmabufupload.hpp"
#include "gstegluploader.hpp"

#define GST_CAT_DEFAULT gst_egl_dmabuf_upload_debug

namespace gstdrm {

namespace {

// Attempts for one CAPS event or buffer, in case the application changes settings in a loop.
constexpr unsigned kMostAttempts = 8;

} // namespace

// A refused test import changes the offer as well, and is the reason for the failure itself.
bool EglUploader::is_spoiled(const std::shared_ptr<const UploadFormats> &before) const
{
  return refusal_.empty() && offer_.formats() != before;
}

// Consumes the CAPS event.
bool EglUploader::negotiate(GstEvent *event)
{
  const auto owned = GstPtr<GstEvent>::adopt(event);
  for (unsigned attempt = 1;; attempt++) {
    const std::shared_ptr<const UploadFormats> before = offer_.formats();
    if (base_->sink_event(GST_BASE_TRANSFORM(element_), gst_event_ref(event)))
      return true;
    if (!find_device()) { // why there is no context is on the bus, or the element is being stopped
      failed_.interrupt();
      return false;
    }
    if (attempt == kMostAttempts || !is_spoiled(before))
      return false;
    GST_DEBUG_OBJECT(element_, "the offer has changed meanwhile: once more");
  }
}

// Consumes the buffer. The base class negotiates again before it takes one, where downstream asked
// for that.
GstFlowReturn EglUploader::submit(bool discont, GstBuffer *buffer)
{
  auto *trans = GST_BASE_TRANSFORM(element_);
  for (unsigned attempt = 1;; attempt++) {
    if (!GST_PAD_NEEDS_RECONFIGURE(GST_BASE_TRANSFORM_SRC_PAD(trans)))
      return base_->submit_input_buffer(trans, discont, buffer);
    const auto kept = GstPtr<GstBuffer>::share(buffer);
    const std::shared_ptr<const UploadFormats> before = offer_.formats();
    const GstFlowReturn ret = base_->submit_input_buffer(trans, discont, buffer);
    if (ret != GST_FLOW_NOT_NEGOTIATED || attempt == kMostAttempts || !is_spoiled(before))
      return ret;
    GST_DEBUG_OBJECT(element_, "the offer has changed meanwhile: once more");
    buffer = gst_buffer_ref(kept.get());
  }
}

} // namespace gstdrm
