// SPDX-License-Identifier: LGPL-2.1-or-later
// Pixel formats under their VA and DRM names, and which pairs a device really allocates and
// exports.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <va/va.h>

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/core/limits.hpp>
#include <gst/drm/core/result.hpp>

#include "va_display.hpp"

namespace gstdrm::va {

enum class Model { Rgb, Yuv };

struct PixelFormat {
  std::uint32_t va_fourcc;
  std::uint32_t drm_fourcc;
  std::uint32_t rt_format; // VA_RT_FORMAT_*
  Model model;
};
// Look a fourcc up in the table; nullptr where the table does not have it.
const PixelFormat *format_by_va(std::uint32_t va_fourcc);
const PixelFormat *format_by_drm(std::uint32_t drm_fourcc);

struct Capabilities {
  FormatSet formats; // each pair was allocated and exported once
  bool has_vpp = false;
  bool takes_modifiers = false; // VASurfaceAttribDRMFormatModifiers may be set
  bool lists_modifiers = false; // the driver says which modifiers it supports
  std::uint32_t min_width = 1;
  std::uint32_t min_height = 1;
  std::uint32_t max_width = kMaxFrameSize;
  std::uint32_t max_height = kMaxFrameSize;
  std::vector<std::string> refused; // errors of the pairs that failed, for the log
};

// Allocates and exports a surface for each pair that the driver may support. Error where the driver
// exports no pair at all.
Result<Capabilities> query_capabilities(const std::shared_ptr<Display> &display);

} // namespace gstdrm::va
