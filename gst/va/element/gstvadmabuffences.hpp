// SPDX-License-Identifier: LGPL-2.1-or-later
// How readers of a buffer wait for the device that draws it.
#pragma once

#include <gst/gst.h>

#include "engine/va_objects.hpp"

namespace gstdrm::va {

// Belongs to the thread that draws. Learns from the buffers whether the driver leaves fences in its
// DMA buffers.
class DrawFences {
public:
  // Attaches the fences of the drawing to the buffer. Returns false where the driver leaves no
  // fence in its DMA buffers, and once it was seen not to: then a thread has to wait in
  // vaSyncSurface.
  bool attach(GstBuffer *buffer, const Surface &surface);

private:
  bool has_fences(GstBuffer *buffer, const Surface &surface);

  bool leaves_fences_ = true; // until the driver was seen not to
  bool seen_pending_ = false; // a fence that had not signalled: the driver does leave them
};

} // namespace gstdrm::va
