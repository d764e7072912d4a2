// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrmpasscaps.hpp"

#include <gst/drm/element/chain.hpp>
#include <gst/drm/gstdrm-private.hpp>

namespace gstdrm {

void PassedCaps::watch()
{
  constexpr auto self = [](gpointer data) -> PassedCaps & {
    return *static_cast<PassedCaps *>(data);
  };
  watch_caps_events<self, &PassedCaps::explain_refused>(element_->sinkpad, this);
  failed_.watch(element_->sinkpad, [this](const GstCaps *filter) { return mismatch(filter); });
}

bool PassedCaps::take(GstEvent *event, const GstBaseTransformClass *base)
{
  return failed_.take(
      GST_ELEMENT(element_), event,
      [&](GstEvent *passed) { return base->sink_event(element_, passed) != FALSE; },
      [this](const GstCaps *caps) { return mismatch(caps); });
}

void PassedCaps::explain_refused(GstEvent *event)
{
  GstCaps *caps = nullptr;
  gst_event_parse_caps(event, &caps);
  if (!caps || !gst_caps_is_fixed(caps) || gst_pad_query_accept_caps(element_->sinkpad, caps) ||
      is_flushing(GST_ELEMENT(element_)))
    return;
  failed_.begin(caps);
  if (failed_.claim())
    post_mismatch(GST_ELEMENT(element_), mismatch(caps));
}

Mismatch PassedCaps::mismatch(const GstCaps *caps) const
{
  const auto own = GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(element_->sinkpad));
  std::vector<Restriction> receivers = restrictions_after(element_->srcpad);
  if (!caps_meet(own.get(), caps))
    receivers.insert(receivers.begin(), {GST_OBJECT_NAME(element_), "takes", own, false});
  return describe_mismatch({nothing_in_common(GST_ELEMENT(element_)),
                            {origin_name(element_->sinkpad), "has", caps},
                            std::move(receivers)},
                           [](const GstCaps *, const GstCaps *) {
                             return "Put a converter between them (videoconvert for plain video, "
                                    "vadmabufconvert for DMA buffers).";
                           });
}

} // namespace gstdrm
