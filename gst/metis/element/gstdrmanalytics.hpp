// SPDX-License-Identifier: LGPL-2.1-or-later
// GstAnalyticsRelationMeta, which GStreamer has since 1.24: the one place of this plugin that knows
// the version.
#pragma once

#include "config.h"

#ifdef HAVE_GST_ANALYTICS
// it warns otherwise that its API is not stable
#define GST_USE_UNSTABLE_API
#include <gst/analytics/analytics.h>
#endif

#include "gstdrmdetections.hpp"

namespace gstdrm {

// Adds the objects as detections to the buffer's relations; does nothing where there are none.
inline void attach_analytics([[maybe_unused]] GstBuffer *buffer,
                             [[maybe_unused]] const std::vector<FoundObject> &objects)
{
#ifdef HAVE_GST_ANALYTICS
  GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta(buffer);
  if (!relations)
    relations = gst_buffer_add_analytics_relation_meta(buffer);
  for (const FoundObject &object : objects) {
    GstAnalyticsODMtd detection;
    gst_analytics_relation_meta_add_od_mtd(relations, g_quark_from_string(object.name.c_str()),
                                           object.x, object.y, object.width, object.height,
                                           static_cast<gfloat>(object.score), &detection);
  }
#endif
}

} // namespace gstdrm
