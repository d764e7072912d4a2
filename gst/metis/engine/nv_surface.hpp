// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of memory:NVMM: the buffer's memory holds a description, NvBufSurface of NVIDIA's
// nvbufsurface.h, and the description names a dma-buf.
#pragma once

#include <cstddef>
#include <cstdint>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/result.hpp>

namespace gstdrm::metis {

// The pitch-linear NV12 frame behind the description that starts at `memory`. The descriptors are
// the surface's own. Error of code Layout for anything that is no such description, or names
// another format, size or kind of memory; the layout is not yet checked with check_layout().
Result<FrameLayout> layout_of_nv_surface(const void *memory, std::size_t size_bytes,
                                         std::uint32_t width, std::uint32_t height);

} // namespace gstdrm::metis
