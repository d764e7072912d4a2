// SPDX-License-Identifier: LGPL-2.1-or-later
#include "failed_negotiation.hpp"

namespace gstdrm {

void post_mismatch(GstElement *element, const Mismatch &mismatch)
{
  GST_ELEMENT_ERROR(element, CORE, NEGOTIATION, ("%s", mismatch.text.c_str()),
                    ("%s", mismatch.debug.c_str()));
}

void FailedNegotiation::reset()
{
  refused_.reset();
  posted_.reset();
}

void FailedNegotiation::begin(const GstCaps *caps)
{
  if (has_refused(caps))
    return;
  refused_ = GstPtr<GstCaps>::share(const_cast<GstCaps *>(caps));
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
  begin(caps.get());
  if (pass_on(event)) {
    succeed();
    return true;
  }
  if (claim())
    post_mismatch(element, explain(caps.get()));
  return false;
}

} // namespace gstdrm
