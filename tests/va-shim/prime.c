/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A preload in front of mesa-drm-shim's nouveau, which answers what Mesa asks that driver, but not
 * DRM_IOCTL_PRIME_HANDLE_TO_FD, without which no surface can be exported. The descriptor is a memfd
 * of the buffer object's size, so there are no pixels behind it; layouts, modifiers and refusals
 * are Mesa's own. In C, because nouveau_drm.h has a member named class. */
/* nouveau_drm.h needs these two, and includes neither */
/* clang-format off */
#include <stdint.h>
#include <drm.h>
/* clang-format on */

#include <dlfcn.h>
#include <errno.h>
#include <nouveau_drm.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int (*Ioctl)(int, unsigned long, ...);

static Ioctl shim_ioctl(void)
{
  static Ioctl next;
  if (!next)
    next = (Ioctl)dlsym(RTLD_NEXT, "ioctl");
  return next;
}

static int export_handle(int fd, struct drm_prime_handle *prime)
{
  struct drm_nouveau_gem_info info = {.handle = prime->handle};
  /* A driver's own ioctls begin at DRM_COMMAND_BASE. */
  if (shim_ioctl()(fd,
                   DRM_IOWR(DRM_COMMAND_BASE + DRM_NOUVEAU_GEM_INFO, struct drm_nouveau_gem_info),
                   &info) != 0)
    return -1;
  const int memory = memfd_create("gst-drm-va-shim", MFD_CLOEXEC);
  if (memory < 0)
    return -1;
  if (ftruncate(memory, (off_t)info.size) != 0) {
    const int reason = errno;
    close(memory);
    errno = reason;
    return -1;
  }
  prime->fd = memory;
  return 0;
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  if (request == DRM_IOCTL_PRIME_HANDLE_TO_FD)
    return export_handle(fd, argument);
  return shim_ioctl()(fd, request, argument);
}
