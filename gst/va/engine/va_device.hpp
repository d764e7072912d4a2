// SPDX-License-Identifier: LGPL-2.1-or-later
// A device that can export surfaces, and frames from it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "va_display.hpp"
#include "va_machine.hpp"
#include "va_probe.hpp"
#include "va_surface.hpp"

namespace gstdrm::va {

struct Device {
  std::shared_ptr<Display> display;
  Capabilities capabilities;
};

Result<Device> open_device(const std::string &node);
// Opens a device on a foreign display (Display::adopt()).
Result<Device> adopt_device(VADisplay display, const std::string &node,
                            std::shared_ptr<void> owner);
// The same device for another element, without a new probe.
Device share_device(const Device &device);
// Opens the first render node whose driver exports surfaces that it can draw into. Skips nodes that
// failed a probe. The error names every node with libva's answer or the failure.
Result<Device> open_first_device(const std::vector<FailedNode> &failed);

struct Frame {
  std::shared_ptr<Surface> surface;
  AllocatedFrame exported;
};

// `modifiers` are all that the consumers take, kModImplicit included; the driver chooses one. The
// implicit modifier is used only if no explicit one can be allocated.
Result<Frame> allocate_frame(const Device &device, std::uint32_t fourcc, std::uint32_t width,
                             std::uint32_t height, std::span<const std::uint64_t> modifiers);

} // namespace gstdrm::va
