// SPDX-License-Identifier: LGPL-2.1-or-later
// VA surfaces as buffers: a GstDrmAllocator, with one GstMemory per exported object, of which the
// first keeps the surface, and the fences of what the device draws into them.
#pragma once

#include <memory>

#include <gst/drm/gstdrmallocator.h>

#include "engine/va_device.hpp"

namespace gstdrm::va {

// (transfer full)
GstDrmAllocator *new_allocator(std::shared_ptr<const Device> device);
// The surface of a buffer of this allocator; nullptr for any other buffer.
const std::shared_ptr<Surface> *surface_of(GstBuffer *buffer);

// Finds out whether the driver attaches fences to its DMA buffers. Used by the thread that draws.
class DrawFences {
public:
  // Attaches the fences of the drawing to the buffer. Returns false from the first surface on that
  // is busy without a fence: then a thread has to wait in vaSyncSurface.
  bool attach(GstBuffer *buffer, const Surface &surface);

private:
  bool has_fences(GstBuffer *buffer, const Surface &surface);

  bool leaves_fences_ = true; // false after a busy surface without a fence
  bool seen_pending_ = false; // a fence was pending: the driver attaches them
};

} // namespace gstdrm::va
