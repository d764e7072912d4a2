// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <optional>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/element/transform_query.hpp>

namespace gstdrm {

// Queries that GstBaseTransform does not answer well for an element that passes every frame on
// under the caps that it has: it takes its caps apart by structures, which loses lists that contain
// lists, and fails an assertion where there are none. Nothing: the base class answers.
inline std::optional<gboolean> pass_query(GstBaseTransform *trans, GstPadDirection direction,
                                          GstQuery *query) noexcept
{
  GstCaps *caps = nullptr;
  switch (GST_QUERY_TYPE(query)) {
  case GST_QUERY_CAPS:
    return answer_without_filter(
        direction, query, [=](GstQuery *whole) { // what the other side takes
          return gst_pad_proxy_query_caps(
                     direction == GST_PAD_SINK ? trans->sinkpad : trans->srcpad, whole) != FALSE;
        });
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
