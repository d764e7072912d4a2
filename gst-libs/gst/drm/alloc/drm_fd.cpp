// SPDX-License-Identifier: LGPL-2.1-or-later
#include "drm_fd.hpp"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <xf86drm.h>

#include "../core/drm_node.hpp"
#include "../core/errno_text.hpp"

namespace gstdrm {

namespace {

bool is_drm_device(const struct stat &st) noexcept
{
  return S_ISCHR(st.st_mode) && major(st.st_rdev) == kDrmMajor;
}

Error no_drm_device(const std::string &what)
{
  return Error{ErrorCode::Device, what + " is no DRM device; use a node such as /dev/dri/card0"};
}

} // namespace

Result<void> check_drm_fd(int fd)
{
  struct stat st = {};
  if (::fstat(fd, &st) != 0) {
    const int sys_errno = errno;
    return Error{ErrorCode::Device,
                 "File descriptor " + std::to_string(fd) +
                     " cannot be used: " + errno_text(sys_errno),
                 sys_errno};
  }
  if (!is_drm_device(st))
    return no_drm_device("File descriptor " + std::to_string(fd));
  return {};
}

Result<UniqueFd> open_drm_node(const std::string &path)
{
  struct stat st = {};
  UniqueFd fd;
  // stat(2) comes before open(2), because open(2) of a FIFO would block until a writer opens it.
  if (::stat(path.c_str(), &st) == 0) {
    if (!is_drm_device(st))
      return no_drm_device(path);
    fd.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  }
  if (!fd) {
    const int sys_errno = errno;
    const bool denied = sys_errno == EACCES || sys_errno == EPERM;
    return Error{ErrorCode::Device,
                 "Cannot open " + path + ": " + errno_text(sys_errno) +
                     (denied ? "; add this user to the group video or render" : ""),
                 sys_errno};
  }
  if (drmIsMaster(fd.get()))
    drmDropMaster(fd.get());
  return fd;
}

bool drm_device_is_gone(int fd) noexcept
{
  std::uint64_t unused = 0;
  return drmGetCap(fd, DRM_CAP_DUMB_BUFFER, &unused) != 0 && errno == ENODEV;
}

std::string drm_fd_path(int fd)
{
  std::error_code error;
  const auto target = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
  return error ? std::string() : target.string();
}

Result<UniqueFd> export_gem_handle(int drm_fd, std::uint32_t handle)
{
  int fd = -1;
  if (drmPrimeHandleToFD(drm_fd, handle, DRM_CLOEXEC | DRM_RDWR, &fd) != 0) {
    const int sys_errno = errno;
    return Error{ErrorCode::Allocation,
                 drm_fd_path(drm_fd) +
                     " cannot export a buffer as a dma-buf (PRIME): " + errno_text(sys_errno),
                 sys_errno};
  }
  return UniqueFd(fd);
}

} // namespace gstdrm
