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

// Opens an allocator of this kind on `device` (the name of a heap, or the path of a DRM node), or
// on the first device that works where `device` is empty. Auto tries udmabuf, dma-heap, dumb, gbm
// and memfd in that order, or those of them that fit `device`; its Error has the error of each. An
// allocator works when it has made one small buffer. With Auto and no device, buffers beyond
// udmabuf's limit come from dma-heap.
Result<OpenedAllocator> open_allocator(AllocatorKind kind, const std::string &device);

// The same for a DRM device that is already open. `kind` is Dumb, Gbm or Auto, which tries the two
// in that order. The caller keeps the descriptor; DumbAllocator and Gbm say how they use it.
Result<OpenedAllocator> open_allocator_for_fd(AllocatorKind kind, int borrowed_drm_fd);

} // namespace gstdrm
