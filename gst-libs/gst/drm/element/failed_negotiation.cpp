// SPDX-License-Identifier: LGPL-2.1-or-later
#include "failed_negotiation.hpp"

#include <utility>

#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/video/video-overlay-composition.h>

#include "caps_features.hpp"
#include "chain.hpp"

namespace gstdrm {

namespace {

// Whether a stream cannot go on without caps of the filter: it has video in memory of a kind that
// the pad takes, and not only video with overlays beside the frames. An element that draws overlays
// asks for those first, and blends the overlays itself where downstream does not take them. One
// that tries converters in turn (autovideoconvert) asks for the memory of each.
bool is_needed(GstPad *sink, const GstCaps *filter)
{
  const auto taken = GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(sink));
  for (guint i = 0; i < gst_caps_get_size(filter); i++) {
    const GstCapsFeatures *features = gst_caps_get_features(filter, i);
    if (gst_structure_has_name(gst_caps_get_structure(filter, i), "video/x-raw") &&
        !gst_caps_features_contains(features,
                                    GST_CAPS_FEATURE_META_GST_VIDEO_OVERLAY_COMPOSITION) &&
        (gst_caps_is_any(taken.get()) || any_features(taken.get(), [&](const auto *of_pad) {
           return gst_caps_features_is_equal(of_pad, features);
         })))
      return true;
  }
  return false;
}

// The queries that follow pass the probe, too.
thread_local bool asks_again = false;

// All that upstream can send; empty where it says ANY, and so does not know.
GstPtr<GstCaps> sendable_into(GstPad *sink)
{
  auto theirs = GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(sink, nullptr));
  return gst_caps_is_any(theirs.get()) ? GstPtr<GstCaps>() : theirs;
}

bool takes_any_of(GstPad *sink, GstCaps *caps)
{
  const auto taken = GstPtr<GstCaps>::adopt(gst_pad_query_caps(sink, caps));
  return !gst_caps_is_empty(taken.get());
}

// Upstream that has negotiated may ask for its old caps once more before it chooses others, and a
// transform for the caps that it has before it converts them.
bool may_choose_again(GstPad *sink, bool has_caps)
{
  if (const auto convertible = caps_of_choosing_transform(sink))
    return takes_any_of(sink, convertible.get());
  if (!has_caps)
    return false;
  const auto theirs = sendable_into(sink);
  return !theirs || takes_any_of(sink, theirs.get());
}

// What the query asks about, where its answer ends a stream; nullptr where it may go on.
GstPtr<GstCaps> refused_by(GstPad *sink, GstQuery *answered)
{
  GstCaps *filter = nullptr;
  GstCaps *answer = nullptr;
  gst_query_parse_caps(answered, &filter);
  gst_query_parse_caps_result(answered, &answer);
  const bool has_caps = gst_pad_has_current_caps(sink);
  if (!answer)
    return {};
  if (filter)
    return gst_caps_is_empty(answer) && is_needed(sink, filter) && is_streaming_into(sink) &&
                   !may_choose_again(sink, has_caps)
               ? GstPtr<GstCaps>::share(filter)
               : GstPtr<GstCaps>();
  // v4l2src, as some other sources, compares the answer with its own caps itself.
  if (has_caps || !is_source_streaming_into(sink))
    return {};
  auto theirs = sendable_into(sink);
  const bool is_refused = theirs && !gst_caps_is_empty(theirs.get()) &&
                          is_needed(sink, theirs.get()) && !caps_meet(theirs.get(), answer);
  return is_refused ? theirs : GstPtr<GstCaps>();
}

// Takes DMA_DRM out of the answer where no frame of it could come.
void keep_what_can_come(GstPad *sink, GstQuery *answered)
{
  GstCaps *answer = nullptr;
  gst_query_parse_caps_result(answered, &answer);
  if (answer && names_dma_drm(answer) && comes_through_filter_without_dma_drm(sink))
    gst_query_set_caps_result(answered, without_dma_drm(answer).get());
}

} // namespace

bool brings_caps(GstEvent *event)
{
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS)
    return false;
  GstCaps *caps = nullptr;
  gst_event_parse_caps(event, &caps);
  return gst_caps_get_size(caps) == 0 ||
         !gst_structure_has_name(gst_caps_get_structure(caps, 0), "NULL");
}

void post_mismatch(GstElement *element, const Mismatch &mismatch)
{
  // the structure of gst_drm_explain_mismatch(), with the text of this message
  GstStructure *details = mismatch.details ? gst_structure_copy(mismatch.details.get())
                                           : gst_structure_new_empty("GstDrmMismatch");
  // The element knows its own neighbours and what it can convert; the library knows two caps.
  if (!mismatch.advice.empty())
    set_text(details, "advice", mismatch.advice);
  post_with_details(element, {GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION},
                    Error{ErrorCode::Conflict, mismatch.text, 0}, details,
                    g_strdup(mismatch.debug.c_str()));
}

void FailedNegotiation::watch(GstPad *sink, std::function<Mismatch(const GstCaps *)> explain)
{
  explain_ = std::move(explain);
  mark_as_explaining(sink);
  // A probe of the type PULL sees a query when it has been answered.
  constexpr auto kAnswered =
      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PULL);
  gst_pad_add_probe(sink, kAnswered, logging<on_answer>, this, nullptr);
}

GstPadProbeReturn FailedNegotiation::on_answer(GstPad *pad, GstPadProbeInfo *info, gpointer self)
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  // The application may keep the pad longer than the element lives.
  const auto element = GstPtr<GstElement>::adopt(gst_pad_get_parent_element(pad));
  if (element && GST_QUERY_TYPE(query) == GST_QUERY_CAPS) {
    keep_what_can_come(pad, query);
    static_cast<FailedNegotiation *>(self)->explain_empty_answer(element.get(), pad, query);
  }
  return GST_PAD_PROBE_OK;
}

void FailedNegotiation::explain_empty_answer(GstElement *element, GstPad *sink, GstQuery *answered)
{
  if (asks_again)
    return;
  asks_again = true;
  const auto refused = refused_by(sink, answered);
  asks_again = false;
  if (!refused || is_flushing(element) || !claim())
    return;
  answered_empty_ = true;
  post_mismatch(element, explain_(refused.get()));
}

void FailedNegotiation::watch_caps(GstPad *sink)
{
  gst_pad_add_probe(sink, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, logging<on_event>, this, nullptr);
}

GstPadProbeReturn FailedNegotiation::on_event(GstPad *pad, GstPadProbeInfo *info, gpointer self)
{
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  const auto element = GstPtr<GstElement>::adopt(gst_pad_get_parent_element(pad));
  if (element && brings_caps(event))
    static_cast<FailedNegotiation *>(self)->explain_refused_caps(element.get(), pad, event);
  return GST_PAD_PROBE_OK;
}

void FailedNegotiation::explain_refused_caps(GstElement *element, GstPad *sink, GstEvent *event)
{
  GstCaps *caps = nullptr;
  gst_event_parse_caps(event, &caps);
  if (!gst_caps_is_fixed(caps) || gst_pad_query_accept_caps(sink, caps) || is_flushing(element))
    return;
  begin(caps);
  if (claim())
    post_mismatch(element, explain_(caps));
}

void FailedNegotiation::begin(const GstCaps *caps)
{
  if (has_refused(caps))
    return;
  refused_ = GstPtr<GstCaps>::share(const_cast<GstCaps *>(caps));
  if (!answered_empty_.exchange(false))
    posted_.reset();
}

void FailedNegotiation::succeed()
{
  refused_.reset();
  posted_.reset();
  answered_empty_ = false;
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

} // namespace gstdrm
