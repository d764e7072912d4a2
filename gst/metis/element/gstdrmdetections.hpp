// SPDX-License-Identifier: LGPL-2.1-or-later
// Detections as objects in a frame.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gst/drm/core/result.hpp>
#include <gst/drm/gstdrmtensormeta.h>
#include <gst/video/gstvideometa.h>

#include "engine/decode/detection.hpp"

namespace gstdrm {

struct FrameSize {
  gint width = 0; // pixels; 0 if unknown
  gint height = 0;
};

// An object within the frame, in its pixels.
struct FoundObject {
  gint x, y, width, height;
  gdouble score;
  guint label;
  std::string name;
  std::vector<metis::KeyPoint> key_points;
  metis::Mask mask{}; // its area is not cut
  std::vector<float> embedding{};
  std::string group{};                        // of the model
  guint id = 0;                               // of the tracker, stays with the object; 0: none
  GstClockTime first_seen = 0, last_seen = 0; // timestamps of frames, if it has an id
  std::optional<gint> parent{};               // id of the region in which it was found
  bool whole = false;                         // what was found is about all of that region
  guint age = 0;                              // frames since it was found
};

// Inverts the placement and clips boxes to the frame; drops boxes outside of it. ErrorCode::Layout
// if the placement has no inverse.
Result<std::vector<FoundObject>> to_frame(const std::vector<metis::Detection> &found,
                                          const GstDrmTensorPlacement &placement, FrameSize frame);

// The object with its key points and mask in another place, cut at the frame's edges; nullopt if
// that is outside of the frame. The size of `box` is above 0.
std::optional<FoundObject> moved(const FoundObject &object, const metis::Detection &box,
                                 FrameSize frame);

// The region in which the object was found; nullptr if there is none, or not any more.
GstVideoRegionOfInterestMeta *region_of(GstBuffer *buffer, const FoundObject &object);

// Adds a GstVideoRegionOfInterestMeta for each object and, with GStreamer 1.24 or newer, one
// GstAnalyticsRelationMeta with all objects, even if there are none. What was found about a whole
// region becomes a parameter of that region.
void attach(GstBuffer *buffer, const std::vector<FoundObject> &objects);

// One JSON text without a line's end (docs/detections.md).
std::string json_of(GstBuffer *buffer, FrameSize frame, const std::vector<FoundObject> &objects);

// (transfer full) "drm-detections", for an element message. `json` is json_of() the same.
GstStructure *message_of(GstBuffer *buffer, const std::vector<FoundObject> &objects,
                         const std::string &json);

} // namespace gstdrm
