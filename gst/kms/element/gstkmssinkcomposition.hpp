// SPDX-License-Identifier: LGPL-2.1-or-later
// From GstVideoOverlayCompositionMeta to an overlay that the display shows beside the frame. By the
// streaming thread, or under a lock that keeps it away.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/video/video.h>

#include "engine/commit/kms_overlay.hpp"

namespace gstdrm {

// The compositions of a buffer, lowest first; empty if nothing lies over the frame.
std::vector<GstVideoOverlayComposition *> compositions_of(GstBuffer *buffer);

// false: GStreamer does not draw on frames of that format.
bool blend_compositions(GstBuffer *on, const GstVideoInfo &info,
                        const std::vector<GstVideoOverlayComposition *> &compositions);

class SinkCompositions {
public:
  // The same compositions as the time before give the same overlay. Rectangles whose pixels cannot
  // be read are left out. null: nothing is left.
  std::shared_ptr<const kms::Overlay>
  overlay_of(const std::vector<GstVideoOverlayComposition *> &compositions);
  // The buffer shows a part of the frame that its compositions are laid out for, from `part` on:
  // puts compositions in their place that lie over the same pixels of the part. What was laid out
  // before is taken again.
  void lay_out_for_part(GstBuffer *buffer, kms::Origin part);
  void forget();

private:
  // What tells two rectangles apart. A rectangle that is changed gets another number; its place
  // can change without.
  struct Key {
    guint sequence = 0;
    kms::Rectangle place;
    friend bool operator==(const Key &, const Key &) = default;
  };
  static std::vector<Key> keys_of(const std::vector<GstVideoOverlayComposition *> &compositions);

  std::vector<Key> keys_;
  std::shared_ptr<const kms::Overlay> overlay_;
  // Of the last lay_out_for_part():
  std::vector<Key> whole_keys_;
  kms::Origin part_;
  GstPtr<GstBuffer> for_part_; // has the compositions, and no memory
};

} // namespace gstdrm
