// SPDX-License-Identifier: LGPL-2.1-or-later
// DMA buffers of other devices as VA surfaces.
#pragma once

#include <memory>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/result.hpp>

#include "va_objects.hpp"
#include "va_probe.hpp"

namespace gstdrm::va {

// Makes a surface in the memory of a frame whose layout has passed check_layout(). The caller keeps
// its descriptors: drivers duplicate them or take a handle. ErrorCode::Import if the driver refuses
// the frame.
Result<Surface> import_surface(const std::shared_ptr<Display> &display, ImportBy way,
                               const FrameLayout &layout);

} // namespace gstdrm::va
