// SPDX-License-Identifier: LGPL-2.1-or-later
// The objects of a frame as lines and labels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gst/video/video-overlay-composition.h>
#include <gst/video/video.h>

#include "engine/overlay/drawing.hpp"
#include "gstdrmoverlaypaint.hpp"

namespace gstdrm {

struct CompositionUnref {
  void operator()(GstVideoOverlayComposition *composition) const noexcept
  {
    gst_video_overlay_composition_unref(composition);
  }
};
using Composition = std::unique_ptr<GstVideoOverlayComposition, CompositionUnref>;

// One box with its label, within the frame.
struct Marked {
  metis::Area box;
  std::string name; // determines the colour
  std::string text; // empty: no label
  friend bool operator==(const Marked &, const Marked &) = default;
};

// The regions of interest of the buffer that are within the frame.
std::vector<Marked> marked_objects(GstBuffer *buffer, const GstVideoInfo &info, bool labels);

// Keeps the last drawing, so that objects which do not move are drawn once. Streaming thread.
class Scene {
public:
  // Valid until the next call. Needs at least one object.
  const std::vector<Patch> &draw(std::vector<Marked> objects, const GstVideoInfo &info);
  // (transfer none) Of the last drawing, valid until the next one. Made when it is first asked for.
  GstVideoOverlayComposition *composition();
  void forget();
  [[nodiscard]] guint64 drawn() const noexcept { return drawn_; }

private:
  std::vector<Marked> objects_;
  std::vector<Patch> patches_;
  Composition composition_;
  guint64 drawn_ = 0;
};

} // namespace gstdrm
