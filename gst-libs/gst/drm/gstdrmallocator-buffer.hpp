// SPDX-License-Identifier: LGPL-2.1-or-later
// From a frame's description to a GstBuffer: for the library's allocators, and for those of plugins.
// Never installed.
#pragma once

#include <gst/allocators/gstdmabuf.h>
#include <gst/gst.h>

#include "core/allocated_frame.hpp"

namespace gstdrm {

// The debug category `drmallocator`.
GstDebugCategory *allocator_debug_category() noexcept;

// One GstMemory of `allocator` per object, in their order, and a GstVideoMeta, (transfer full). The
// meta has GStreamer's name of the layout where that format's rules can say the strides, else
// DMA_DRM. Takes the frame's descriptors.
GstBuffer *buffer_from_frame(GstDmaBufAllocator *allocator, AllocatedFrame frame);

} // namespace gstdrm
