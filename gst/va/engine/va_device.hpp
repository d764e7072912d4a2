// SPDX-License-Identifier: LGPL-2.1-or-later
// A device that can export surfaces, and frames from it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <gst/drm/core/result.hpp>

#include "va_display.hpp"
#include "va_formats.hpp"
#include "va_surface.hpp"

namespace gstdrm::va {

struct Device {
  std::shared_ptr<Display> display;
  Capabilities capabilities;
};

Result<Device> open_device(const std::string &node);
// The first render node whose driver exports something; the error names every node that was tried
// and what libva answered.
Result<Device> open_first_device();

struct Frame {
  std::shared_ptr<Surface> surface;
  AllocatedFrame exported;
};

// `modifiers` are all that the consumers take, including kModImplicit where they take it; the driver
// chooses one. The implicit modifier is used only where no explicit one can be allocated.
Result<Frame> allocate_frame(const Device &device, std::uint32_t fourcc, std::uint32_t width,
                             std::uint32_t height, std::span<const std::uint64_t> modifiers);

} // namespace gstdrm::va
