// SPDX-License-Identifier: LGPL-2.1-or-later
// metisdmabufinfer: queries of both sides.
#include <gst/drm/element/needs.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmcaps-parts.hpp>

#include "gstmetisinferer.hpp"
#include "gstmetistensorcaps.hpp"

namespace gstdrm::metis {

namespace {

// GST_QUERY_IS_SERIALIZED() combines two enumerations, which C++20 frowns upon.
bool is_serialized(GstQuery *query)
{
  return (static_cast<guint>(GST_QUERY_TYPE(query)) &
          static_cast<guint>(GST_QUERY_TYPE_SERIALIZED)) != 0;
}

} // namespace

GstPtr<GstCaps> Inferer::own_caps() const
{
  GST_OBJECT_LOCK(element_);
  auto caps = caps_;
  GST_OBJECT_UNLOCK(element_);
  return caps ? caps : GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(sink_));
}

// The caps of both pads are the same, so each answers what the other's peer and the back end take.
bool Inferer::answer_caps(GstPad *pad, GstQuery *query)
{
  GstCaps *filter = nullptr;
  gst_query_parse_caps(query, &filter);
  GstPad *other = pad == sink_ ? src_ : sink_;
  const auto peer =
      without_tensors(GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(other, nullptr)));
  const auto both = GstPtr<GstCaps>::adopt(gst_drm_caps_intersect(peer.get(), own_caps().get()));
  const auto answer =
      GstPtr<GstCaps>::adopt(filter_caps(GST_PAD_DIRECTION(pad), both.get(), filter));
  gst_query_set_caps_result(query, answer.get());
  return true;
}

bool Inferer::answer_accept_caps(GstQuery *query)
{
  GstCaps *caps = nullptr;
  gst_query_parse_accept_caps(query, &caps);
  const bool accepted = caps && !gst_caps_is_any(caps) && gst_caps_is_fixed(caps) &&
                        caps_meet(own_caps().get(), caps) && check_frame_caps(caps);
  gst_query_set_accept_caps_result(query, accepted);
  return true;
}

// Downstream decides, for it gets the same buffers. The element holds buffers for a while, so that
// more of them are needed, and it waits for acquire fences where it infers every frame.
bool Inferer::answer_allocation(GstQuery *query)
{
  if (!queue_ || queue_->drain() == InferenceQueue::Passage::Flushing)
    return false;
  GstCaps *caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  GstDrmVideoInfo info;
  if (!caps || gst_caps_is_any(caps) || !gst_caps_is_fixed(caps) ||
      !gst_drm_video_info_from_caps(&info, caps))
    return false;
  // Before downstream is asked: a producer hears of it also where downstream does not answer.
  const guint held = places_;
  add_needs(element_, query, {"", 0, held, 0, GST_DRM_ACCESS_READ});
  if (!gst_pad_peer_query(src_, query))
    return false;
  for (guint i = 0; i < gst_query_get_n_allocation_pools(query); i++) {
    GstBufferPool *pool = nullptr;
    guint size = 0;
    guint min = 0;
    guint max = 0;
    gst_query_parse_nth_allocation_pool(query, i, &pool, &size, &min, &max);
    const auto owned = GstPtr<GstBufferPool>::adopt(pool);
    const guint wanted = max == 0 ? min + held : MIN(min + held, max);
    gst_query_set_nth_allocation_pool(query, i, pool, size, wanted, max);
  }
  if (settings_.interval == 1 &&
      !gst_query_find_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, nullptr))
    gst_query_add_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, nullptr);
  return true;
}

bool Inferer::sink_query(GstQuery *query)
{
  switch (GST_QUERY_TYPE(query)) {
  case GST_QUERY_CAPS:
    return answer_caps(sink_, query);
  case GST_QUERY_ACCEPT_CAPS:
    return answer_accept_caps(query);
  case GST_QUERY_ALLOCATION:
    return answer_allocation(query);
  default:
    break;
  }
  if (is_serialized(query) && (!queue_ || queue_->drain() == InferenceQueue::Passage::Flushing))
    return false;
  return gst_pad_query_default(sink_, GST_OBJECT(element_), query) != FALSE;
}

bool Inferer::src_query(GstQuery *query)
{
  switch (GST_QUERY_TYPE(query)) {
  case GST_QUERY_CAPS:
    return answer_caps(src_, query);
  case GST_QUERY_ACCEPT_CAPS:
    return answer_accept_caps(query);
  case GST_QUERY_LATENCY:
    if (!gst_pad_peer_query(sink_, query))
      return false;
    latency_.add_to(query, places_);
    return true;
  default:
    return gst_pad_query_default(src_, GST_OBJECT(element_), query) != FALSE;
  }
}

} // namespace gstdrm::metis
