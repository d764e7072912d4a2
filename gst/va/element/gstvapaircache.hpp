// SPDX-License-Identifier: LGPL-2.1-or-later
// Pairs of format and modifier that a driver makes but does not list, found by trying those that
// downstream lists.
#pragma once

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/gst.h>

#include "engine/va_device.hpp"

namespace gstdrm::va {

// In pixels. If downstream allows several sizes, the nearest one is tried.
struct TrialSize {
  int width = 640;
  int height = 480;
};

// The pairs of downstream's caps whose fourcc the device makes, and whose modifier is not in
// `known` and not in `tried`.
FormatSet untried_pairs(const GstCaps *downstream, const Capabilities &capabilities,
                        const FormatSet &known, const FormatSet &tried);

class PairCache {
public:
  // For a driver that takes a list of modifiers but lists none: lets it choose among the modifiers
  // that the peer of the source pad lists, by one surface for each format at the negotiated size.
  // The chosen pair stays valid while the peer lists it and `refused`, the pairs that failed since,
  // lacks it; otherwise the driver chooses among the other modifiers. Streaming thread.
  void learn(GstElement *element, GstPad *pad, const Device &device, const TrialSize &size,
             const FormatSet &refused);
  // The pairs that the probe found, and those that learn() found. Any thread.
  [[nodiscard]] FormatSet known(const Device &device) const;
  // Forgets the pairs of the last device. Not while learn() runs.
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
