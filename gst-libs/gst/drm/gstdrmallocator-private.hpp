// SPDX-License-Identifier: LGPL-2.1-or-later
// From the allocators' engines to GstBuffer; for this library's own sources, never installed.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include "alloc/frame_allocator.hpp"
#include "gstdrmallocator.h"

namespace gstdrm {

// The debug category `drmallocator`.
GstDebugCategory *allocator_debug_category();

// One GstMemory of `allocator` per object and a GstVideoMeta; consumes the frame's descriptors.
GstBuffer *buffer_from_frame(GstDmaBufAllocator *allocator, AllocatedFrame frame);

// What a decoder asks for, as the engines understand it; Error for stride masks that are not 2^n
// - 1.
Result<void> apply_alignment(FrameRequest &request, const GstVideoAlignment *align);

// LINEAR of every fourcc that make_linear_plan() knows: a new set with one owner.
GstDrmFormatSet *linear_formats();

} // namespace gstdrm
