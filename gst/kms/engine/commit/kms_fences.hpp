// SPDX-License-Identifier: LGPL-2.1-or-later
// Which drivers wait for the implicit fences of a frame's dma-bufs themselves.
#pragma once

#include <string_view>

namespace gstdrm::kms {

// Whether a plain commit of this driver waits for the writers that a framebuffer's dma-bufs name.
bool waits_for_implicit_fences(std::string_view driver);

} // namespace gstdrm::kms
