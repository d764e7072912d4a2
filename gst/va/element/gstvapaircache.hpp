// SPDX-License-Identifier: LGPL-2.1-or-later
// Pairs that a driver makes and does not list: found by trying those that downstream lists.
#pragma once

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/gst.h>

#include "engine/va_device.hpp"

namespace gstdrm::va {

// Pixels; where downstream leaves the size open, the one nearest to this is used.
struct TrialSize {
  int width = 640;
  int height = 480;
};

class PairCache {
public:
  // A driver that takes a list of modifiers, and has none to show, chooses among those that the
  // peer of the source pad lists: one surface for each format, at the size that is negotiated. The
  // pair that it chose is enough for as long as the peer lists it and it is not in `refused`, which
  // has pairs that turned out to be of no use; then the driver chooses among the rest. The
  // streaming thread's.
  void learn(GstElement *element, GstPad *pad, const Device &device, const TrialSize &size,
             const FormatSet &refused);
  // What the probe found, and what was learned. Any thread.
  [[nodiscard]] FormatSet known(const Device &device) const;
  // Another device. Not while learn() runs.
  void reset();

private:
  FormatSet try_list(GstElement *element, const Device &device, const FormatSet &listed,
                     const TrialSize &size);

  // Pairs that the driver does not make at that size.
  struct Impossible {
    TrialSize size;
    FormatSet pairs;
  };
  Impossible impossible_;
  mutable OrderedMutex lock_{kLeafLockRank, "PairCache::lock_"}; // guards all below
  FormatSet learned_; // pairs that downstream lists and the driver chose
};

} // namespace gstdrm::va
