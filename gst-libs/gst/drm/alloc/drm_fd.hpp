// SPDX-License-Identifier: LGPL-2.1-or-later
// Descriptors of DRM devices, and what libdrm does with them.
#pragma once

#include <cstdint>
#include <string>

#include "../core/result.hpp"
#include "../core/unique_fd.hpp"

namespace gstdrm {

// Error unless fd is a DRM device.
Result<void> check_drm_fd(int fd);

// Opens a DRM node without becoming its master: the first to open a card that has no master is made
// master by the kernel (drm_auth.c, drm_master_open()), and a display's owner would then find it
// taken.
Result<UniqueFd> open_drm_node(const std::string &path);

// Path of the node behind a descriptor, for people; empty where it cannot be found.
std::string drm_fd_path(int fd);

// The dma-buf of a GEM handle, readable and writable: the first export decides what mmap(2) may do.
Result<UniqueFd> export_gem_handle(int drm_fd, std::uint32_t handle);

} // namespace gstdrm
