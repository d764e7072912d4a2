// SPDX-License-Identifier: LGPL-2.1-or-later
// Implicit fences of a frame's dma-bufs, and which drivers wait for them themselves.
#pragma once

#include <string_view>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>

namespace gstdrm::kms {

// Whether a plain commit of this driver waits for the writers that a framebuffer's dma-bufs name.
bool waits_for_implicit_fences(std::string_view driver);

// A sync_file of all that write into the frame's dma-bufs: one ioctl per dma-buf.
// ErrorCode::Unsupported before Linux 6.0.
Result<UniqueFd> export_writers(const FrameLayout &layout);

// Makes the fence one of the writers' of each dma-buf, so that whoever reads them waits for it.
Result<void> import_writer(const FrameLayout &layout, int fence_fd);

} // namespace gstdrm::kms
