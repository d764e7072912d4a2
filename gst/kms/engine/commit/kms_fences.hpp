// SPDX-License-Identifier: LGPL-2.1-or-later
// Which drivers wait for the implicit fences of a frame's dma-bufs themselves.
#pragma once

#include <string_view>

namespace gstdrm::kms {

// Whether a commit without IN_FENCE_FD makes this driver wait for the write fences of a
// framebuffer's dma-bufs.
bool waits_for_implicit_fences(std::string_view driver);

} // namespace gstdrm::kms
