// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_fences.hpp"

namespace gstdrm::kms {

// Drivers with GEM wait: drm_atomic_helper_prepare_planes() calls drm_gem_plane_helper_prepare_fb()
// for those that have no prepare_fb() of their own (since Linux 5.15), and the others of the tree
// call it from theirs, vkms too. NVIDIA's own module has no implicit synchronisation (its README,
// "Direct Rendering Manager Kernel Modesetting").
bool waits_for_implicit_fences(std::string_view driver)
{
  return driver != "nvidia-drm";
}

} // namespace gstdrm::kms
