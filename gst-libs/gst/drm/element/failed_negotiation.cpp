// SPDX-License-Identifier: LGPL-2.1-or-later
#include "failed_negotiation.hpp"

#include <algorithm>
#include <vector>

namespace gstdrm {
namespace {

// Whether a flush or a state change has reached the element or one of its neighbours: every event
// fails then, whatever it says.
bool is_flushing(GstElement *element)
{
  std::vector<GstPtr<GstPad>> pads;
  GST_OBJECT_LOCK(element);
  for (const GList *item = element->pads; item; item = item->next)
    pads.push_back(GstPtr<GstPad>::share(GST_PAD_CAST(item->data)));
  GST_OBJECT_UNLOCK(element);
  return std::any_of(pads.begin(), pads.end(), [](const GstPtr<GstPad> &pad) {
    const auto peer = GstPtr<GstPad>::adopt(gst_pad_get_peer(pad.get()));
    return GST_PAD_IS_FLUSHING(pad.get()) || (peer && GST_PAD_IS_FLUSHING(peer.get()));
  });
}

} // namespace

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
  begin(caps.get());
  interrupted_ = false;
  if (pass_on(event)) {
    succeed();
    return true;
  }
  if (interrupted_ || is_flushing(element)) {
    refused_.reset();
    return false;
  }
  if (claim())
    post_mismatch(element, explain(caps.get()));
  return false;
}

} // namespace gstdrm
