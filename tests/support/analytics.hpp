// SPDX-License-Identifier: LGPL-2.1-or-later
// The objects in a buffer's GstAnalyticsRelationMeta, which GStreamer has since 1.24.
#pragma once

#include <cmath>
#include <string>

#define GST_USE_UNSTABLE_API
#include <gst/analytics/analytics.h>

#include "check_main.hpp"

namespace gstdrm::test {

// "label confidence% x y width height", one object after the other; "-" for no label.
inline std::string detections_of(GstBuffer *buffer)
{
  std::string text;
  GstAnalyticsRelationMeta *relations = gst_buffer_get_analytics_relation_meta(buffer);
  gpointer state = nullptr;
  GstAnalyticsMtd found;
  while (relations && gst_analytics_relation_meta_iterate(relations, &state, gst_analytics_od_mtd_get_mtd_type(), &found)) {
    gint x = 0, y = 0, width = 0, height = 0;
    gfloat score = 0;
    fail_unless(gst_analytics_od_mtd_get_location(&found, &x, &y, &width, &height, &score));
    const gchar *label = g_quark_to_string(gst_analytics_od_mtd_get_obj_type(&found));
    text += text.empty() ? "" : "; ";
    text += std::string(label ? label : "-") + " " + std::to_string(std::lround(score * 100)) + "%";
    for (const gint number : {x, y, width, height})
      text += " " + std::to_string(number);
  }
  return text;
}

} // namespace gstdrm::test
