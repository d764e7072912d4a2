// SPDX-License-Identifier: LGPL-2.1-or-later
// Display: overlays over the frames, and whether there is a plane for them.
#include <utility>

#include <gst/drm/core/log.hpp>

#include "kms_display.hpp"

namespace gstdrm::kms {

bool Display::can_overlay() const
{
  if (!can_overlay_ || scanout_.overlay_refused())
    return false;
  const std::lock_guard guard(view_lock_);
  return view_.rotation == DRM_MODE_ROTATE_0;
}

Display::OverlayCounters Display::overlay_counters() const
{
  return {overlays_shown_, overlays_left_out_, scanout_.overlay_refusals()};
}

// A frame that flip() shows next. One whose overlay cannot be drawn is shown without it.
void Display::draw_overlay(Frame &frame)
{
  publish_overlays(); // flip() may have refused the overlay of an earlier frame
  if (const Result<void> drawn = scanout_.draw_overlay(frame); !drawn)
    GSTDRM_DEBUG("a frame has no overlay: %s", drawn.error().message.c_str());
  if (frame.raster && scanout_.overlay_is_untried(*frame.raster)) {
    queue_.exclusively([&] { scanout_.try_overlay(frame.raster); });
    if (scanout_.overlay_refused())
      frame.raster.reset();
    publish_overlays();
  }
  count_overlay(frame);
}

void Display::count_overlay(const Frame &frame)
{
  if (frame.overlay)
    (frame.raster ? overlays_shown_ : overlays_left_out_)++;
}

// Tells the listener what has changed. By the streaming thread.
void Display::publish_overlays()
{
  can_overlay_ = scanout_.can_overlay();
  if (scanout_.overlay_refused() && !std::exchange(overlay_refusal_told_, true))
    tell_(&DisplayListener::overlay_refused, scanout_.overlay_refusal());
  const bool can = can_overlay();
  if (std::exchange(overlay_announced_, can) != can)
    tell_(&DisplayListener::formats_changed);
}

} // namespace gstdrm::kms
