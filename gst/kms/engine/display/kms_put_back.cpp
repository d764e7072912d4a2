// SPDX-License-Identifier: LGPL-2.1-or-later
// Display: what is on screen when the sink stops.
#include <optional>
#include <utility>

#include <gst/drm/core/log.hpp>

#include "kms_display.hpp"

namespace gstdrm::kms {

// After stop() it holds for the stop() that comes before the output goes.
void Display::set_restore(bool restore)
{
  restore_ = restore;
}

// The picture from before, or the last frame. While no other thread commits. Error: neither could
// be had.
Result<void> Display::put_back()
{
  if (!scanout_.has_saved_state() || reservation_.ids().empty())
    return {}; // this display has shown nothing, or has given its output up for good
  if (reservation_.take() != 0)
    return {}; // another sink shows its picture in place of the frame that was left there
  if (!restore_ && !plug_.device_lost()) {
    // the flip may be to come that takes the others off the screen, and nobody waits for it
    std::vector<Frame> last = queue_.take_shown();
    if (last.empty()) {
      scanout_.forget_shown(); // a picture that was hidden
      return {}; // nothing of this display's, or the frame that an earlier call has left there
    }
    const Result<void> left = scanout_.leave(last.front());
    if (left) {
      GSTDRM_DEBUG("the last frame stays on %s", scanout_.describe().c_str());
      last_ = std::move(last);
      return {};
    }
    Result<void> restored = scanout_.restore();
    if (!restored) // the frame may be on screen, and goes after its framebuffer
      cache_.clear();
    return restored ? left : restored;
  }
  Result<void> restored = scanout_.restore();
  // what an earlier call has left is on screen, where nothing came in its place: nobody may write
  // into its buffer
  if (restored || plug_.device_lost())
    last_.clear();
  return restored;
}

} // namespace gstdrm::kms
