// SPDX-License-Identifier: LGPL-2.1-or-later
#include "transform_query.hpp"

#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmcaps-parts.hpp>

namespace gstdrm {

bool can_be_set(const GstCaps *caps)
{
  GstDrmVideoInfo info;
  return caps && !gst_caps_is_any(caps) && gst_caps_is_fixed(caps) &&
         gst_drm_video_info_from_caps(&info, caps);
}

bool answer_without_filter(GstPadDirection direction, GstQuery *query,
                           const std::function<bool(GstQuery *whole)> &ask)
{
  const auto whole = GstPtr<GstQuery>::adopt(gst_query_new_caps(nullptr));
  if (!ask(whole.get()))
    return false;
  GstCaps *filter = nullptr;
  GstCaps *answer = nullptr;
  gst_query_parse_caps(query, &filter);
  gst_query_parse_caps_result(whole.get(), &answer);
  const auto allowed = GstPtr<GstCaps>::adopt(filter_caps(direction, answer, filter));
  gst_query_set_caps_result(query, allowed.get());
  return true;
}

bool answer_in_null(GstElement *element, GstPad *pad, GstQuery *query)
{
  if (GST_QUERY_TYPE(query) != GST_QUERY_CAPS || GST_STATE(element) != GST_STATE_NULL)
    return false;
  GstCaps *filter = nullptr;
  gst_query_parse_caps(query, &filter);
  const auto known = GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(pad));
  const auto answer =
      GstPtr<GstCaps>::adopt(filter_caps(GST_PAD_DIRECTION(pad), known.get(), filter));
  gst_query_set_caps_result(query, answer.get());
  return true;
}

bool query_transform(GstBaseTransform *element, const GstBaseTransformClass *base,
                     GstPadDirection direction, GstQuery *query,
                     const std::function<bool(const GstCaps *caps)> &settable)
{
  GstCaps *caps = nullptr;
  if (answer_in_null(GST_ELEMENT(element),
                     direction == GST_PAD_SINK ? element->sinkpad : element->srcpad, query))
    return true;
  if (GST_QUERY_TYPE(query) == GST_QUERY_CAPS)
    return answer_without_filter(direction, query, [&](GstQuery *whole) {
      return base->query(element, direction, whole) != FALSE;
    });
  if (GST_QUERY_TYPE(query) == GST_QUERY_ACCEPT_CAPS) {
    gst_query_parse_accept_caps(query, &caps);
    if (!settable(caps)) {
      gst_query_set_accept_caps_result(query, FALSE);
      return true;
    }
  } else if (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION) {
    gst_query_parse_allocation(query, &caps, nullptr);
    if (!settable(caps))
      return false;
  }
  return base->query(element, direction, query) != FALSE;
}

} // namespace gstdrm
