// SPDX-License-Identifier: LGPL-2.1-or-later
// What kmsdmabufsink and upstream agree on: the answers to the queries, the caps that come, and the
// pairs that the display refuses afterwards. By the streaming thread, except where a function says
// otherwise.
#pragma once

#include <cstdint>

#include <gst/drm/element/failed_negotiation.hpp>
#include <gst/drm/element/refusals.hpp>
#include <gst/gst.h>
#include <gst/video/gstvideosink.h>

#include "gstkmssinkcaps.hpp"
#include "gstkmssinkdisplay.hpp"

namespace gstdrm {

class SinkNegotiation {
public:
  SinkNegotiation(GstVideoSink *element, const SinkDisplay &display);

  // (transfer full) The answer to a caps query. Any thread.
  GstCaps *query_caps(GstCaps *filter);
  // The answer to an allocation query. Returns false if no display is open, or the query has no
  // caps of video frames.
  bool propose_allocation(GstQuery *query) const;

  // The display starts.
  void restart();
  // Whether accept() failed for these caps last, so that the message for them is on the bus.
  // GStreamer sends a sticky CAPS event that was refused again before the next buffer.
  [[nodiscard]] bool has_refused(const GstCaps *caps) const { return failed_.has_refused(caps); }
  // Sets the display up for new caps. The caps may be of a pair that the display refused: then
  // refuses() is true and the stream goes on.
  Result<SinkStream> accept(kms::Display &display, const GstCaps *caps);
  // What accept() returned for these caps; an error goes on the bus, once.
  void settle(const kms::Display &display, GstCaps *caps, const Result<SinkStream> &accepted);

  // Whether the frames of the present caps are dropped.
  [[nodiscard]] bool refuses() const noexcept { return refusals_.refuses(); }
  // The display cannot show frames of the present caps. Drops the present frame.
  GstFlowReturn refuse(kms::Display &display, const Error &why);
  GstFlowReturn drop() { return refusals_.drop(); }
  // Any thread.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return refusals_.dropped(); }
  // The display offers something else than before. Any thread, without a lock.
  void request_choice() { refusals_.request_choice(); }

private:
  [[nodiscard]] GstPtr<GstCaps> offered_caps() const;
  [[nodiscard]] Mismatch mismatch(const GstCaps *sent) const;
  void post_refusal(const kms::Display &display, const GstCaps *caps, const Error &error);
  [[nodiscard]] std::string fix_for(const kms::Display &display, const GstCaps *sent) const;
  [[nodiscard]] bool is_forbidden_copy(const GstCaps *caps) const;

  GstElement *element_; // borrowed: it owns this
  const SinkDisplay &display_;
  FailedNegotiation failed_; // caps that accept() returned an error for
  Refusals refusals_;        // caps that accept() took, and the display refused later
};

} // namespace gstdrm
