// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstdint>

namespace gstdrm {

// Pixels in a direction beyond which no frame can be allocated here, nor imported by the devices
// known: i915 and amdgpu end scanout at 16384 (mode_config.max_width in
// intel_display_driver.c and amdgpu_dm.c), and the textures of their GPUs end there too
// (GL_MAX_TEXTURE_SIZE). Up to it every stride of a known format has 32 bits, as
// drm_mode_fb_cmd2 wants.
inline constexpr std::uint32_t kMaxFrameSize = 16384;

} // namespace gstdrm
