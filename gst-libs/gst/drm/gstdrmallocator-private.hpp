// SPDX-License-Identifier: LGPL-2.1-or-later
// From the allocators' engines to GstBuffer; for this library's own sources, never installed.
#pragma once

#include <memory>

#include <gst/gst.h>
#include <gst/video/video.h>

#include "alloc/frame_allocator.hpp"
#include "gstdrmallocator-buffer.hpp"
#include "gstdrmallocator.h"

namespace gstdrm {

// Of one allocator: made with the object, and filled by the constructor of its kind.
struct AllocatorState {
  GstDrmAllocatorKind kind = GST_DRM_ALLOCATOR_KIND_AUTO;
  std::unique_ptr<FrameAllocator> engine;        // empty in a subclass from elsewhere
  GstMemoryMapFunction map_descriptor = nullptr; // GstFdAllocator's mmap(2)
};
AllocatorState &state_of(gpointer allocator);

// The virtual functions of the library's own kinds, on the state's engine.
GstDrmFormatSet *engine_get_formats(GstDrmAllocator *allocator);
GstBuffer *engine_alloc_frame(GstDrmAllocator *allocator, guint32 fourcc, guint width, guint height,
                              const guint64 *modifiers, guint n_modifiers,
                              const GstVideoAlignment *align, guint64 *modifier,
                              GError **error) noexcept;
GstMemory *engine_alloc(GstAllocator *allocator, gsize size, GstAllocationParams *params);

// LINEAR of every fourcc that make_linear_plan() knows: a new set with one owner.
GstDrmFormatSet *linear_formats();

} // namespace gstdrm
