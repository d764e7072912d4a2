// SPDX-License-Identifier: LGPL-2.1-or-later
// Detections on their way from a model's input to a frame's buffer.
#pragma once

#include <string>
#include <vector>

#include <gst/drm/core/result.hpp>
#include <gst/drm/gstdrmtensormeta.h>

#include "engine/decode/detection.hpp"

namespace gstdrm {

struct FrameSize {
  gint width = 0; // pixels; 0: not known
  gint height = 0;
};

// An object in pixels of the frame, inside of it.
struct FoundObject {
  gint x, y, width, height;
  gdouble score;
  guint label;
  std::string name;
  std::vector<metis::KeyPoint> key_points;
};

// Turns the placement around and cuts the box at the frame's edges; none where nothing is left.
// Error of code Layout: the placement is none that can be turned around.
Result<std::vector<FoundObject>> to_frame(const std::vector<metis::Detection> &found,
                                          const GstDrmTensorPlacement &placement, FrameSize frame);

// Adds a GstVideoRegionOfInterestMeta for each object and, where this GStreamer has them, an object
// of a GstAnalyticsRelationMeta, which is there without objects too.
void attach(GstBuffer *buffer, const std::vector<FoundObject> &objects);

// (transfer full) "drm-detections", for an element message.
GstStructure *message_of(GstBuffer *buffer, const std::vector<FoundObject> &objects);

} // namespace gstdrm
