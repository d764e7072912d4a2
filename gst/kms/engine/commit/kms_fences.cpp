// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_fences.hpp"

namespace gstdrm::kms {

// Drivers with GEM wait. For a driver without a prepare_fb() of its own,
// drm_atomic_helper_prepare_planes() calls drm_gem_plane_helper_prepare_fb() (since Linux 5.15);
// the other drivers in the kernel tree, vkms too, call it from their prepare_fb(). NVIDIA's own
// module has no implicit synchronisation (its README, "Direct Rendering Manager Kernel
// Modesetting").
bool waits_for_implicit_fences(std::string_view driver)
{
  return driver != "nvidia-drm";
}

} // namespace gstdrm::kms
