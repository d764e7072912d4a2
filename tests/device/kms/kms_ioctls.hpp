// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts the DRM ioctls of this process, libdrm's included, at the C library's door, and makes one
// fail where it is told to. The program that links this exports its own ioctl().
#pragma once

namespace gstdrm::test {

// numbers of <drm.h>: _IOC_NR()
inline constexpr unsigned kPrimeFdToHandle = 0x2e;
inline constexpr unsigned kRmFb = 0xaf;
inline constexpr unsigned kAddFb2 = 0xb8;
inline constexpr unsigned kAtomic = 0xbc;

// since the program began
unsigned count_drm_ioctls();
unsigned count_drm_ioctls(unsigned number);

// Atomic commits since the program began that sleep until they are on screen, and those that may set
// a mode. Tests are none.
unsigned count_blocking_commits();
unsigned count_mode_sets();

// The `nth` DRM ioctl from now on (1: the next) fails with `error` and does not reach the kernel;
// 0: none. Those that only give something back are not counted: nobody can do anything about their
// failing. Of each kind that reads objects the first eight are counted, and each eighth after that.
void fail_drm_ioctl(int nth, int error);
// Atomic commits that set one of these two properties to anything but 0 are refused with EINVAL,
// test commits too. 0: none are.
void refuse_commits_that_set(unsigned first_property, unsigned second_property);
// Number of the one that has failed; -1: none yet.
int failed_drm_ioctl();

} // namespace gstdrm::test
