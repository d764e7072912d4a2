// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of memory:NVMM: the buffer's memory is an NvBufSurface (NVIDIA's nvbufsurface.h), which
// names a dma-buf.
#pragma once

#include <cstddef>
#include <cstdint>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/result.hpp>

namespace gstdrm::metis {

// The pitch-linear NV12 frame of the NvBufSurface at `memory`, which owns the descriptors. The
// layout has passed check_layout(). ErrorCode::Layout if the memory is no NvBufSurface, or has
// another format, size or kind of memory.
Result<FrameLayout> layout_of_nv_surface(const void *memory, std::size_t size_bytes,
                                         std::uint32_t width, std::uint32_t height);

} // namespace gstdrm::metis
