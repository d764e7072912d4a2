// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <optional>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-private.hpp>

namespace gstdrm {

// What the other side takes. It is asked without the filter: elements on the way would intersect a
// list with a list string by string, which takes milliseconds for those of a GPU.
inline gboolean pass_caps_query(GstPad *pad, GstQuery *query) noexcept
{
  const auto whole = GstPtr<GstQuery>::adopt(gst_query_new_caps(nullptr));
  if (!gst_pad_proxy_query_caps(pad, whole.get()))
    return FALSE;
  GstCaps *filter = nullptr;
  GstCaps *answer = nullptr;
  gst_query_parse_caps(query, &filter);
  gst_query_parse_caps_result(whole.get(), &answer);
  const auto allowed = filter ? GstPtr<GstCaps>::adopt(gst_drm_caps_intersect(filter, answer))
                              : GstPtr<GstCaps>::share(answer);
  gst_query_set_caps_result(query, allowed.get());
  return TRUE;
}

// Queries that GstBaseTransform does not answer well for an element that passes every frame on
// under the caps that it has: it takes its caps apart by structures, which loses lists that contain
// lists, and fails an assertion where there are none. Nothing: the base class answers.
inline std::optional<gboolean> pass_query(GstBaseTransform *trans, GstPadDirection direction,
                                          GstQuery *query) noexcept
{
  GstCaps *caps = nullptr;
  switch (GST_QUERY_TYPE(query)) {
  case GST_QUERY_CAPS:
    return pass_caps_query(direction == GST_PAD_SINK ? trans->sinkpad : trans->srcpad, query);
  case GST_QUERY_ACCEPT_CAPS:
    gst_query_parse_accept_caps(query, &caps);
    if (caps && !gst_caps_is_any(caps) && gst_caps_is_fixed(caps))
      return std::nullopt;
    gst_query_set_accept_caps_result(query, FALSE);
    return TRUE;
  default:
    return std::nullopt;
  }
}

} // namespace gstdrm
