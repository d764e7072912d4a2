// SPDX-License-Identifier: LGPL-2.1-or-later
// Pairs that a driver makes and does not list: found by trying those that downstream lists.
#pragma once

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/gst.h>

#include "engine/va_device.hpp"

namespace gstdrm::va {

class Learner {
public:
  // A driver that takes a list of modifiers, and has none to show, chooses among those that the
  // peer of the source pad lists. One surface for each format is enough: the driver chooses the one
  // that it likes best. The streaming thread's.
  void learn(GstElement *element, GstPad *pad, const Device &device);
  // What the probe found, and what was learned. Any thread.
  [[nodiscard]] FormatSet known(const Device &device) const;
  // Another device. Not while learn() runs.
  void reset();

private:
  FormatSet tried_;                                            // pairs that downstream listed
  mutable OrderedMutex lock_{kLeafLockRank, "Learner::lock_"}; // guards all below
  FormatSet learned_; // pairs that downstream lists and the driver chose
};

} // namespace gstdrm::va
