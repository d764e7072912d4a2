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

// Opens a DRM node without staying its master. The kernel makes the first process that opens a card
// without a master its master (drm_auth.c, drm_master_open()); a program that wants to show
// something on that card could then not become master.
Result<UniqueFd> open_drm_node(const std::string &path);

// Whether the device was removed. The kernel answers ENODEV to every call from then on
// (drm_ioctl()), so a device that is still there was there for all calls before.
bool drm_device_is_gone(int fd) noexcept;

// Path of the node behind a descriptor, for people; empty where it cannot be found.
std::string drm_fd_path(int fd);

// Exports a GEM handle as a dma-buf for reading and writing. The first export of a handle decides
// which access mmap(2) gives.
Result<UniqueFd> export_gem_handle(int drm_fd, std::uint32_t handle);

} // namespace gstdrm
