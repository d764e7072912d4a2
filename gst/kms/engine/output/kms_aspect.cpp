// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_aspect.hpp"

#include <cmath>
#include <optional>

namespace gstdrm::kms {

namespace {

// CTA-861-G, table 3: the ratios that its formats have.
std::optional<double> told_aspect(const drmModeModeInfo &mode)
{
  switch (mode.flags & DRM_MODE_FLAG_PIC_AR_MASK) {
  case DRM_MODE_FLAG_PIC_AR_4_3:
    return 4.0 / 3;
  case DRM_MODE_FLAG_PIC_AR_16_9:
    return 16.0 / 9;
  case DRM_MODE_FLAG_PIC_AR_64_27:
    return 64.0 / 27;
  case DRM_MODE_FLAG_PIC_AR_256_135:
    return 256.0 / 135;
  default:
    return std::nullopt;
  }
}

// 720 pixels, or a multiple, in 480 or 576 lines fill a screen of 4:3 and one of 16:9 (ITU-R
// BT.601; CTA-861-G, table 3): in neither are they square.
bool is_standard_definition(const drmModeModeInfo &mode)
{
  return mode.hdisplay != 0 && mode.hdisplay % 720 == 0 && mode.hdisplay <= 2880 &&
         (mode.vdisplay == 480 || mode.vdisplay == 576);
}

// Plasma televisions of 16:9 have panels of 1024x720, 1024x768, 1024x1024, 1024x1080 or 1280x1080.
bool has_wide_pixels(const drmModeModeInfo &mode)
{
  return mode.hdisplay == 1024 || (mode.hdisplay == 1280 && mode.vdisplay == 1080);
}

double distance(double a, double b)
{
  return std::abs(std::log(a / b));
}

} // namespace

double picture_aspect(const drmModeModeInfo &mode)
{
  if (mode.hdisplay == 0 || mode.vdisplay == 0)
    return 1;
  return told_aspect(mode).value_or(static_cast<double>(mode.hdisplay) / mode.vdisplay);
}

// EDIDs give centimetres, or a ratio such as 16x9 in the place of a size, and are wrong now and
// then: small panels have the size of another one. They choose between the two shapes that a mode
// of standard definition can have. The pixels of the display's own mode count as other than square
// only where a panel that exists explains the size. How a display fits another mode into its panel
// is not known: its pixels count as square.
double pixel_aspect(const drmModeModeInfo &mode, const ScreenSize &screen)
{
  if (mode.hdisplay == 0 || mode.vdisplay == 0)
    return 1;
  const double pixels = static_cast<double>(mode.hdisplay) / mode.vdisplay;
  if (const std::optional<double> told = told_aspect(mode))
    return *told / pixels;
  if (screen.width_mm == 0 || screen.height_mm == 0)
    return 1;
  const double measured = static_cast<double>(screen.width_mm) / screen.height_mm;
  if (is_standard_definition(mode)) {
    const bool plausible = measured > 1.1 && measured < 2.6;
    const bool wide = distance(measured, 16.0 / 9) < distance(measured, 4.0 / 3);
    return plausible ? (wide ? 16.0 / 9 : 4.0 / 3) / pixels : 1;
  }
  constexpr double kLeastWide = 1.15, kMostWide = 2;
  constexpr std::uint32_t kLeastTelevision_mm = 600;
  const double aspect = measured / pixels;
  const bool is_own = (mode.type & DRM_MODE_TYPE_PREFERRED) != 0;
  // 160x90 and 160x100 in centimetres are ratios too
  const bool is_ratio =
      screen.width_mm == 1600 && (screen.height_mm == 900 || screen.height_mm == 1000);
  return is_own && has_wide_pixels(mode) && screen.width_mm >= kLeastTelevision_mm && !is_ratio &&
                 aspect >= kLeastWide && aspect <= kMostWide
             ? aspect
             : 1;
}

} // namespace gstdrm::kms
