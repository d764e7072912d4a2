// SPDX-License-Identifier: LGPL-2.1-or-later
// The shape of a display's pixels. Pure functions.
#pragma once

#include <cstdint>

#include <xf86drmMode.h>

namespace gstdrm::kms {

// The size of a screen in millimetres; 0 if not known.
struct ScreenSize {
  std::uint32_t width_mm = 0;
  std::uint32_t height_mm = 0;
};

// Width to height of the whole picture of a mode: what the mode says of itself
// (DRM_MODE_FLAG_PIC_AR_*), else the ratio of its pixels.
double picture_aspect(const drmModeModeInfo &mode);

// Width to height of one pixel of the mode on that screen; 1 where nothing says otherwise.
double pixel_aspect(const drmModeModeInfo &mode, const ScreenSize &screen);

} // namespace gstdrm::kms
