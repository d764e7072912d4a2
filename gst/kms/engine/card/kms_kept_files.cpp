// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_kept_files.hpp"

#include <cerrno>

#include <xf86drm.h>

namespace gstdrm::kms {

namespace {

// drm_mode.h and drm.h of Linux 6.8, which libdrm 2.4.114 does not have.
struct CloseFramebuffer {
  std::uint32_t fb_id;
  std::uint32_t pad; // 0
};
constexpr unsigned long kIoctlCloseFramebuffer = DRM_IOWR(0xD0, CloseFramebuffer);

} // namespace

int close_framebuffer(int drm_fd, std::uint32_t id)
{
  CloseFramebuffer request{id, 0};
  return drmIoctl(drm_fd, kIoctlCloseFramebuffer, &request) == 0 ? 0 : -errno;
}

KeptFiles::Ptr KeptFiles::get()
{
  static const auto files = std::make_shared<KeptFiles>();
  return files;
}

bool KeptFiles::keep(const Device &device, std::uint32_t plane_id)
{
  if (device.memory_fd() == device.fd())
    return false; // a copy of it would be master
  UniqueFd file = UniqueFd::dup(device.memory_fd());
  if (!file)
    return false;
  const std::lock_guard guard(lock_);
  std::swap(files_[{device.node(), plane_id}], file); // the older one goes without the lock
  return true;
}

void KeptFiles::forget(const Device &device, std::uint32_t plane_id)
{
  UniqueFd file; // closed without the lock
  const std::lock_guard guard(lock_);
  const auto it = files_.find({device.node(), plane_id});
  if (it == files_.end())
    return;
  file = std::move(it->second);
  files_.erase(it);
}

} // namespace gstdrm::kms
