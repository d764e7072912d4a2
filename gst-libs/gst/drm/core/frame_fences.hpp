// SPDX-License-Identifier: LGPL-2.1-or-later
// Implicit fences of a frame, which may lie in several dma-bufs. Planes in one dma-buf, told by its
// identity, cost one system call together. Any thread.
#pragma once

#include "frame_layout.hpp"
#include "result.hpp"
#include "unique_fd.hpp"

namespace gstdrm {

// A sync_file of all that write into the frame's dma-bufs: one ioctl per dma-buf, and one per merge.
// Empty for a frame without planes. ErrorCode::Unsupported before Linux 6.0.
Result<UniqueFd> export_writers(const FrameLayout &layout);

} // namespace gstdrm
