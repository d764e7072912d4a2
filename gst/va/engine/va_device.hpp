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
// On a display of somebody else (Display::adopt()).
Result<Device> adopt_device(VADisplay display, const std::string &node,
                            std::shared_ptr<void> owner);
// The same device for another user, without another probe.
Device share_device(const Device &device);
// The first render node whose driver exports something that it can draw into, without those that
// failed a probe; the error names every node and what libva answered, or how it failed.
Result<Device> open_first_device(const std::vector<FailedNode> &failed);

struct Frame {
  std::shared_ptr<Surface> surface;
  AllocatedFrame exported;
};

// `modifiers` are all that the consumers take, including kModImplicit where they take it; the
// driver chooses one. The implicit modifier is used only where no explicit one can be allocated.
Result<Frame> allocate_frame(const Device &device, std::uint32_t fourcc, std::uint32_t width,
                             std::uint32_t height, std::span<const std::uint64_t> modifiers);

} // namespace gstdrm::va
