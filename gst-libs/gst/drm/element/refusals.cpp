// SPDX-License-Identifier: LGPL-2.1-or-later
#include "refusals.hpp"

#include <gst/drm/drm.h>

#include "explain.hpp"
#include "failed_negotiation.hpp"

namespace gstdrm {

namespace {

// What both sides of a pad offer.
struct Sides {
  GstPtr<GstCaps> ours, theirs;

  explicit Sides(GstPad *pad)
      : ours(GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad, nullptr))),
        theirs(GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(pad, nullptr)))
  {
  }
  [[nodiscard]] bool meet() const
  {
    const auto common =
        GstPtr<GstCaps>::adopt(made(gst_drm_caps_intersect(theirs.get(), ours.get())));
    return gst_caps_is_empty(common.get()) == FALSE;
  }
};

} // namespace

void Refusals::restart()
{
  begin("");
  dropped_ = 0;
}

void Refusals::begin(std::string reason)
{
  reason_ = std::move(reason);
  gave_up_ = false;
  if (reason_.empty())
    dropped_in_a_row_ = 0;
}

GstFlowReturn Refusals::refuse(const std::string &reason)
{
  GST_CAT_WARNING_OBJECT(category_, element_, "taken out of the offer: %s", reason.c_str());
  reason_ = reason;
  if (!Sides(pad_).meet())
    return give_up("No format is left.");
  return drop();
}

GstFlowReturn Refusals::drop()
{
  dropped_++;
  if (++dropped_in_a_row_ <= kMaxDropped)
    return GST_FLOW_OK;
  return give_up("Upstream did not choose another format within " + std::to_string(kMaxDropped) +
                 " buffers after RECONFIGURE.");
}

GstFlowReturn Refusals::give_up(const std::string &what)
{
  if (std::exchange(gave_up_, true))
    return GST_FLOW_NOT_NEGOTIATED;
  const Sides sides(pad_);
  const Mismatch mismatch =
      describe_mismatch({what + " " + reason_ + " Frames come from " + peer_name(pad_) + ".",
                         {"Upstream", "offers", sides.theirs.get()},
                         {{words_.side, "offers", sides.ours, false}}},
                        [this](const GstCaps *, const GstCaps *) { return words_.suggestion; });
  GST_CAT_DEBUG_OBJECT(category_, element_, "%s", mismatch.debug.c_str());
  post_mismatch(element_, mismatch);
  return GST_FLOW_NOT_NEGOTIATED;
}

void Refusals::request_choice()
{
  GST_CAT_INFO_OBJECT(category_, element_,
                      "the offer has changed: asking upstream to choose again");
  // Events that go upstream take no stream lock, so that any thread may send them.
  if (!gst_pad_push_event(pad_, gst_event_new_reconfigure()))
    GST_CAT_DEBUG_OBJECT(category_, element_, "nothing upstream takes RECONFIGURE");
}

} // namespace gstdrm
