// SPDX-License-Identifier: LGPL-2.1-or-later
#include "failed_negotiation.hpp"

#include "chain.hpp"

namespace gstdrm {
void post_mismatch(GstElement *element, const Mismatch &mismatch, GstMessageType type)
{
  // the structure of gst_drm_explain_mismatch(), with the text of this message
  GstStructure *details = mismatch.details ? gst_structure_copy(mismatch.details.get())
                                           : gst_structure_new_empty("GstDrmMismatch");
  // The element knows its own neighbours and what it can convert; the library knows two caps.
  if (!mismatch.advice.empty())
    set_text(details, "advice", mismatch.advice);
  post_with_details(element, {GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION},
                    Error{ErrorCode::Conflict, mismatch.text, 0}, details,
                    g_strdup(mismatch.debug.c_str()), type);
}

void FailedNegotiation::reset()
{
  refused_.reset();
  posted_.reset();
  warned_ = false;
}

void FailedNegotiation::begin(const GstCaps *caps)
{
  if (has_refused(caps))
    return;
  refused_ = GstPtr<GstCaps>::share(const_cast<GstCaps *>(caps));
  posted_.reset();
}

void FailedNegotiation::succeed()
{
  refused_.reset();
  posted_.reset();
}

bool FailedNegotiation::has_refused(const GstCaps *caps) const
{
  return refused_ && gst_caps_is_equal(refused_.get(), caps);
}

bool FailedNegotiation::take(GstElement *element, GstEvent *event,
                             const std::function<bool(GstEvent *)> &pass_on,
                             const std::function<Mismatch(const GstCaps *)> &explain)
{
  GstCaps *parsed = nullptr;
  gst_event_parse_caps(event, &parsed);
  const auto caps = GstPtr<GstCaps>::share(parsed);
  // Sticky events come again while a pipeline is stopped, too: that ends an attempt, and is not the
  // end of a failure that has its message.
  const bool has_failed_before = has_refused(caps.get());
  begin(caps.get());
  interrupted_ = false;
  if (pass_on(event)) {
    succeed();
    return true;
  }
  if (interrupted_ || is_flushing(element)) {
    if (!has_failed_before)
      refused_.reset();
    return false;
  }
  if (claim())
    post_mismatch(element, explain(caps.get()));
  return false;
}

void FailedNegotiation::warn_of_empty_answer(GstElement *element,
                                             const std::function<Mismatch()> &explain)
{
  if (!warned_.exchange(true))
    post_mismatch(element, explain(), GST_MESSAGE_WARNING);
}

} // namespace gstdrm
