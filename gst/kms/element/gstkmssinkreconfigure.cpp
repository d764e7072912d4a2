// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink: asks upstream to choose again while the stream goes on, and what happens to the
// frames of a pair that the display refused until upstream has.
#include <gst/drm/element/explain.hpp>

#include "gstkmsdmabufsink.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

namespace {

// Buffers of a refused pair that may come before upstream has to have chosen again: more than any
// decoder's pool and a queue of decoded frames hold, about a second at 60 Hz.
constexpr guint kRefusedBuffers = 64;

// Both sides of the negotiation.
struct Sides {
  GstPtr<GstCaps> ours, theirs;

  explicit Sides(GstBaseSink *sink)
      : ours(GstPtr<GstCaps>::adopt(sink_get_caps(sink, nullptr))),
        theirs(GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(GST_BASE_SINK_PAD(sink), nullptr)))
  {
  }
  [[nodiscard]] bool meet() const
  {
    const auto common = GstPtr<GstCaps>::adopt(gst_drm_caps_intersect(theirs.get(), ours.get()));
    return gst_caps_is_empty(common.get()) == FALSE;
  }
};

GstFlowReturn give_up(GstBaseSink *sink, SinkState &state, const std::string &what)
{
  const Sides sides(sink);
  const std::string peer = peer_name(GST_BASE_SINK_PAD(sink));
  const Mismatch mismatch = describe_mismatch(
      {what + " " + state.refusal + " Frames come from " + peer + ".",
       {"Upstream", "offers", sides.theirs.get()},
       {{"The display", "offers", sides.ours, false}}},
      [](const GstCaps *, const GstCaps *) {
        return "Choose a size or format that both can do, or put a converter before the sink.";
      });
  GST_DEBUG_OBJECT(sink, "%s", mismatch.debug.c_str());
  post_error(GST_ELEMENT(sink), Error{ErrorCode::Unsupported, mismatch.text, 0});
  return GST_FLOW_NOT_NEGOTIATED;
}

} // namespace

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

GstFlowReturn sink_refuse_pair(GstVideoSink *sink, Display &display, const Error &why)
{
  SinkState &state = *GST_KMS_DMABUF_SINK(sink)->state;
  GST_WARNING_OBJECT(sink, "taken out of the offer: %s", why.message.c_str());
  state.refusal = why.message;
  if (why.code == ErrorCode::Unsupported)
    display.refuse(why); // else the caps query says already what does not fit
  if (!Sides(GST_BASE_SINK(sink)).meet())
    return give_up(GST_BASE_SINK(sink), state, "No format is left.");
  return sink_drop_refused(sink);
}

GstFlowReturn sink_drop_refused(GstVideoSink *sink)
{
  SinkState &state = *GST_KMS_DMABUF_SINK(sink)->state;
  state.refused_frames++;
  if (++state.refused_in_a_row <= kRefusedBuffers)
    return GST_FLOW_OK;
  return give_up(GST_BASE_SINK(sink), state,
                 "Upstream did not choose another format within " +
                     std::to_string(kRefusedBuffers) + " buffers after RECONFIGURE.");
}

} // namespace gstdrm
