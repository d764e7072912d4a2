// SPDX-License-Identifier: LGPL-2.1-or-later
// The plane over the picture that shows overlays: which planes can, and what it shows at present.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "kms_overlay.hpp"
#include "kms_plan.hpp"

namespace gstdrm::kms {

// A plane for overlays, and the zpos that it needs for that; -1: it needs none.
struct OverlaySlot {
  const Plane *plane = nullptr;
  int zpos = -1;
};

// The planes that can show an overlay over the picture of a plan, best first: of type Overlay, with
// ARGB8888, not in use, and over the plane of the picture. None where the picture is turned, and
// none where the application named a plane: then the others are the application's.
std::vector<OverlaySlot> overlay_slots(const Output &output, const Plan &plan);

// What the plane shows, by the thread that commits.
class OverlayPlane {
public:
  [[nodiscard]] bool shows(const std::shared_ptr<const OverlayRaster> &raster) const noexcept
  {
    return shown_ == raster;
  }
  // A commit was made with it. null: the plane is off.
  void committed(std::shared_ptr<const OverlayRaster> raster)
  {
    replaced_.reset(); // the commit before has completed, or the kernel had refused this one
    if (raster != shown_)
      replaced_ = std::exchange(shown_, std::move(raster));
  }
  // Of the last commit; null: the plane is off.
  [[nodiscard]] const std::shared_ptr<const OverlayRaster> &shown() const noexcept
  {
    return shown_;
  }
  // The plane was turned off by a commit that has completed.
  void forget()
  {
    shown_.reset();
    replaced_.reset();
  }

private:
  std::shared_ptr<const OverlayRaster> shown_;
  std::shared_ptr<const OverlayRaster> replaced_; // on screen until the commit in flight completes
};

} // namespace gstdrm::kms
