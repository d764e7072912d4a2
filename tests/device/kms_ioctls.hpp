// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts the DRM ioctls of this process, libdrm's included, at the C library's door. The program that links
// this exports its own ioctl().
#pragma once

namespace kmstest {

// numbers of <drm.h>: _IOC_NR()
inline constexpr unsigned kPrimeFdToHandle = 0x2e;
inline constexpr unsigned kRmFb = 0xaf;
inline constexpr unsigned kAddFb2 = 0xb8;
inline constexpr unsigned kAtomic = 0xbc;

// since the program began
unsigned count_drm_ioctls();
unsigned count_drm_ioctls(unsigned number);

} // namespace kmstest
