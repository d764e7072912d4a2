// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_ioctls.hpp"

#include <array>
#include <atomic>
#include <cstdarg>
#include <numeric>

#include <linux/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr unsigned kDrmType = 'd'; // DRM_IOCTL_BASE of <drm.h>

std::array<std::atomic<unsigned>, 256> drm_ioctls; // by number

} // namespace

extern "C" __attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...) noexcept
{
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  if (_IOC_TYPE(request) == kDrmType)
    drm_ioctls[_IOC_NR(request)]++;
  return static_cast<int>(syscall(SYS_ioctl, fd, request, argument));
}

namespace kmstest {

unsigned count_drm_ioctls()
{
  return std::accumulate(drm_ioctls.begin(), drm_ioctls.end(), 0U,
                         [](unsigned sum, const std::atomic<unsigned> &count) { return sum + count; });
}

unsigned count_drm_ioctls(unsigned number)
{
  return drm_ioctls[number];
}

} // namespace kmstest
