// SPDX-License-Identifier: LGPL-2.1-or-later
// Lets radeonsi import memfds where Mesa's amdgpu_noop_drm_shim stands for the kernel: the shim has
// no DRM_IOCTL_PRIME_FD_TO_HANDLE, and gets a new buffer of the same size for each. Nothing is
// drawn there, so nobody sees that the buffer is another one.
#include <cstdlib>

#include <amdgpu_drm.h>
#include <dlfcn.h>
#include <drm.h>
#include <sys/types.h>
#include <unistd.h>

#include "support/replace_ioctl.hpp"

namespace {

using Ioctl = int (*)(int, unsigned long, ...);

Ioctl next_ioctl()
{
  static const auto next = reinterpret_cast<Ioctl>(dlsym(RTLD_NEXT, "ioctl"));
  return next;
}

int import_as_new_buffer(int drm_fd, drm_prime_handle &prime)
{
  const off_t size = lseek(prime.fd, 0, SEEK_END);
  if (size < 0)
    return -1;
  drm_amdgpu_gem_create create{};
  create.in.bo_size = static_cast<__u64>(size);
  create.in.alignment = 4096;
  create.in.domains = AMDGPU_GEM_DOMAIN_VRAM;
  const int result = next_ioctl()(drm_fd, DRM_IOCTL_AMDGPU_GEM_CREATE, &create);
  prime.handle = create.out.handle;
  return result;
}

} // namespace

int gstdrm::test::replaced_ioctl(int fd, unsigned long request, void *argument) noexcept
{
  static const bool is_shim = std::getenv("AMDGPU_GPU_ID") != nullptr;
  if (is_shim && request == DRM_IOCTL_PRIME_FD_TO_HANDLE)
    return import_as_new_buffer(fd, *static_cast<drm_prime_handle *>(argument));
  return next_ioctl()(fd, request, argument);
}
