// SPDX-License-Identifier: LGPL-2.1-or-later
// The fences of the device that draws into a buffer.
#pragma once

#include <gst/gst.h>

#include "engine/va_objects.hpp"

namespace gstdrm::va {

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
