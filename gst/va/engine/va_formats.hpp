// SPDX-License-Identifier: LGPL-2.1-or-later
// Pixel formats under their VA and DRM names.
#pragma once

#include <cstdint>

#include <va/va.h>

namespace gstdrm::va {

enum class Model { Rgb, Yuv };

struct PixelFormat {
  std::uint32_t va_fourcc;
  std::uint32_t drm_fourcc;
  std::uint32_t rt_format; // VA_RT_FORMAT_*
  Model model;
};
// nullptr if the table lacks the fourcc.
const PixelFormat *format_by_va(std::uint32_t va_fourcc);
const PixelFormat *format_by_drm(std::uint32_t drm_fourcc);

// Whether a driver's `va_fourcc` names the memory layout of the format, perhaps with other letters.
bool is_name_of(const PixelFormat &format, std::uint32_t va_fourcc);
// Whether `layer` (DRM) names the one layer of an export for which the driver says `va_fourcc`.
// iHD 24.1 copies VA's letters into DRM's name, whose order is the opposite: RGBA, RGBA8888.
bool is_layer_of(const PixelFormat &format, std::uint32_t va_fourcc, std::uint32_t layer);

} // namespace gstdrm::va
