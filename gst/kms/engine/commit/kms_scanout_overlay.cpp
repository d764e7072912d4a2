// SPDX-License-Identifier: LGPL-2.1-or-later
// Scanout: overlays over the picture. The plane for them is chosen with the picture's plan, and
// changes with the commits of frames: an overlay never costs a commit of its own.
#include <algorithm>
#include <utility>

#include <gst/drm/core/log.hpp>

#include "engine/card/kms_objects.hpp"
#include "engine/card/kms_refusal.hpp"
#include "kms_scanout.hpp"

namespace gstdrm::kms {

bool Scanout::can_overlay() const
{
  if (plan_)
    return plan_->overlay != nullptr;
  return std::any_of(output_.planes.begin(), output_.planes.end(), [this](const Plane &plane) {
    Plan plan; // of a picture that need not be turned, on that plane
    plan.plane = &plane;
    plan.rectangle.zpos = view_.zpos;
    plan.rectangle.rotation = view_.rotation;
    return plane.type == PlaneType::Primary && !overlay_slots(output_, plan).empty();
  });
}

OverlayPlacement Scanout::overlay_placement(const Plan &plan) const
{
  return {plan.rectangle.source,
          plan.rectangle.destination,
          {0, 0, plan.mode.hdisplay, plan.mode.vdisplay}};
}

Result<void> Scanout::draw_overlay(Frame &frame)
{
  frame.raster.reset();
  if (!frame.overlay || !plan_ || !plan_->overlay || overlay_refused())
    return {};
  Result<std::shared_ptr<const OverlayRaster>> raster =
      rasters_.draw(frame.overlay, overlay_placement(*plan_));
  if (!raster)
    return raster.error();
  frame.raster = std::move(*raster);
  if (!frame.raster)
    frame.overlay.reset(); // nothing of it is in the picture
  return {};
}

// The plane that a plan has for overlays; the one that takes the frame's, where it has one.
void Scanout::choose_overlay(Plan &plan, Frame &frame, std::uint32_t flags)
{
  frame.raster.reset();
  const std::vector<OverlaySlot> slots = overlay_slots(output_, plan);
  if (slots.empty() || overlay_refused())
    return;
  plan.overlay = slots.front().plane;
  plan.overlay_zpos = slots.front().zpos;
  if (!frame.overlay)
    return;
  Result<std::shared_ptr<const OverlayRaster>> raster =
      rasters_.draw(frame.overlay, overlay_placement(plan));
  if (!raster) {
    GSTDRM_DEBUG("no overlay: %s", raster.error().message.c_str());
    return;
  }
  if (!*raster) {
    frame.overlay.reset(); // nothing of it is in the picture
    return;
  }
  int ret = 0;
  for (const OverlaySlot &slot : slots) {
    plan.overlay = slot.plane;
    plan.overlay_zpos = slot.zpos;
    ret = commit_frame(plan, frame, flags, 0, raster->get());
    if (ret == 0) {
      frame.raster = std::move(*raster);
      return;
    }
  }
  if (is_refusal(-ret)) {
    plan.overlay = nullptr;
    refuse_overlay(-ret);
  }
}

void Scanout::try_overlay(const std::shared_ptr<const OverlayRaster> &raster)
{
  if (!plan_ || !plan_->overlay)
    return;
  if (!std::exchange(overlay_untried_, false)) {
    try_other_size(*raster);
    return;
  }
  int ret = 0;
  for (const OverlaySlot &slot : overlay_slots(output_, *plan_)) {
    plan_->overlay = slot.plane;
    plan_->overlay_zpos = slot.zpos;
    Request request;
    set_overlay(request, output_, *plan_, raster.get());
    ret = commit_request(device_->fd(), request, DRM_MODE_ATOMIC_TEST_ONLY, 0);
    if (ret == 0) {
      tried_overlay_ = raster->destination;
      return;
    }
    if (!is_refusal(-ret)) { // says nothing of this plane: the commit of the frame tells
      overlay_untried_ = true;
      return;
    }
  }
  refuse_overlay(-ret);
}

// imx-drm changes the size of a plane that is on in a mode set alone.
void Scanout::try_other_size(const OverlayRaster &raster)
{
  Request request;
  set_overlay(request, output_, *plan_, &raster);
  const int ret = commit_request(device_->fd(), request, DRM_MODE_ATOMIC_TEST_ONLY, 0);
  if (ret == 0) {
    overlay_resizes_ = true;
    return;
  }
  if (is_refusal(-ret))
    refuse_overlay(-ret);
}

void Scanout::refuse_overlay(int error)
{
  overlay_refusals_++;
  overlay_errno_ = error;
}

Error Scanout::overlay_refusal() const
{
  const int error = overlay_errno_;
  return Error{ErrorCode::Unsupported,
               "No overlay plane of " + device_->name() +
                   " shows the overlay beside the picture: " + errno_text(error) +
                   ". It is blended into the frames from now on.",
               error};
}

void Scanout::forget_overlay()
{
  overlay_.forget();
  overlay_untried_ = false;
  rasters_.clear();
}

} // namespace gstdrm::kms
