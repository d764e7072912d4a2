// SPDX-License-Identifier: LGPL-2.1-or-later
// GstDrmAllocator over VA surfaces: one GstMemory per exported object. The first keeps the surface.
#pragma once

#include <memory>

#include <gst/drm/gstdrmallocator.h>

#include "engine/va_device.hpp"

namespace gstdrm::va {

// (transfer full)
GstDrmAllocator *new_allocator(std::shared_ptr<const Device> device);
// The surface of a buffer of this allocator; nullptr for any other buffer.
const std::shared_ptr<Surface> *surface_of(GstBuffer *buffer);

} // namespace gstdrm::va
