// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_ioctls.hpp"

#include <array>
#include <atomic>
#include <numeric>

#include <cerrno>
#include <cstdarg>
#include <linux/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr unsigned kDrmType = 'd'; // DRM_IOCTL_BASE of <drm.h>

std::array<std::atomic<unsigned>, 256> drm_ioctls; // by number
std::atomic<int> countdown{0}, failing_error{0}, failed_number{-1};

// GEM_CLOSE, MODE_RMFB, MODE_DESTROY_DUMB, MODE_DESTROYPROPBLOB, MODE_CLOSEFB
bool gives_back(unsigned number)
{
  return number == 0x09 || number == 0xaf || number == 0xb4 || number == 0xbe || number == 0xd0;
}

bool is_to_fail(unsigned number)
{
  if (gives_back(number) || countdown.load() <= 0 || --countdown != 0)
    return false;
  failed_number = static_cast<int>(number);
  return true;
}

} // namespace

extern "C" __attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...) noexcept
{
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  if (_IOC_TYPE(request) == kDrmType) {
    drm_ioctls[_IOC_NR(request)]++;
    if (is_to_fail(_IOC_NR(request))) {
      errno = failing_error;
      return -1;
    }
  }
  return static_cast<int>(syscall(SYS_ioctl, fd, request, argument));
}

namespace gstdrm::test {

unsigned count_drm_ioctls()
{
  return std::accumulate(drm_ioctls.begin(), drm_ioctls.end(), 0U,
                         [](unsigned sum, const std::atomic<unsigned> &count) { return sum + count; });
}

unsigned count_drm_ioctls(unsigned number)
{
  return drm_ioctls[number];
}

void fail_drm_ioctl(int nth, int error)
{
  failed_number = -1;
  failing_error = error;
  countdown = nth;
}

int failed_drm_ioctl()
{
  return failed_number;
}

} // namespace gstdrm::test
