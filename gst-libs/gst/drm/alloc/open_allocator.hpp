// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <memory>
#include <string>

#include "frame_allocator.hpp"

namespace gstdrm {

// Same order as GstDrmAllocatorKind in the C API; a test keeps the two in step.
enum class AllocatorKind { Auto, Udmabuf, DmaHeap, Dumb, Gbm, Memfd };

struct OpenedAllocator {
  AllocatorKind kind; // never Auto
  std::unique_ptr<FrameAllocator> allocator;
};

// Opens the kind on a device (a heap's name, a DRM node's path) or, where that is empty, on the
// first that works. Auto tries udmabuf, dma-heap, dumb, gbm and memfd in that order, or with a
// device those that such a device can be; the error tells what each said. Each makes one small
// buffer to prove itself. Auto without a device takes what is beyond udmabuf's limit from dma-heap.
Result<OpenedAllocator> open_allocator(AllocatorKind kind, const std::string &device);

// Dumb, Gbm or, in that order, Auto on a DRM device that is already open. The descriptor stays the
// caller's; see DumbAllocator and Gbm for what is made of it.
Result<OpenedAllocator> open_allocator_for_fd(AllocatorKind kind, int borrowed_drm_fd);

} // namespace gstdrm
