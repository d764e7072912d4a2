// SPDX-License-Identifier: LGPL-2.1-or-later
// Owners for everything libdrm hands out, each with its deleter. Header only.
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <xf86drm.h>
#include <xf86drmMode.h>

#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/result.hpp>

namespace gstdrm::kms {

template <auto Free> struct DrmDeleter {
  template <typename T> void operator()(T *p) const noexcept { Free(p); }
};

using VersionPtr = std::unique_ptr<drmVersion, DrmDeleter<drmFreeVersion>>;
using ResPtr = std::unique_ptr<drmModeRes, DrmDeleter<drmModeFreeResources>>;
using PlaneResPtr = std::unique_ptr<drmModePlaneRes, DrmDeleter<drmModeFreePlaneResources>>;
using PlanePtr = std::unique_ptr<drmModePlane, DrmDeleter<drmModeFreePlane>>;
using ConnectorPtr = std::unique_ptr<drmModeConnector, DrmDeleter<drmModeFreeConnector>>;
using EncoderPtr = std::unique_ptr<drmModeEncoder, DrmDeleter<drmModeFreeEncoder>>;
using ObjectPropertiesPtr =
    std::unique_ptr<drmModeObjectProperties, DrmDeleter<drmModeFreeObjectProperties>>;
using PropertyPtr = std::unique_ptr<drmModePropertyRes, DrmDeleter<drmModeFreeProperty>>;
using BlobPtr = std::unique_ptr<drmModePropertyBlobRes, DrmDeleter<drmModeFreePropertyBlob>>;
using AtomicReqPtr = std::unique_ptr<drmModeAtomicReq, DrmDeleter<drmModeAtomicFree>>;

inline Error device_error(std::string message, int sys_errno = 0)
{
  return Error{ErrorCode::Device, std::move(message), sys_errno};
}

// "1920x1080"
inline std::string describe_size(std::uint32_t width, std::uint32_t height)
{
  return std::to_string(width) + "x" + std::to_string(height);
}

// Whether an errno of AddFB2 or of an atomic commit says that the device does not support the
// request. Other values (ENOMEM, EACCES, ENODEV, EBUSY) say that the device can do nothing at the
// moment.
inline bool is_refusal(int sys_errno) noexcept
{
  switch (sys_errno) {
  case EINVAL: // most drivers, for everything
  case ERANGE: // scaling, in drm_atomic_helper_check_plane_state()
  case ENOSPC: // a rectangle outside the framebuffer, too little bandwidth or FIFO
  case E2BIG:
  case EOVERFLOW:
  case EOPNOTSUPP:
    return true;
  default:
    return false;
  }
}

// Whether the errno of a commit says that another process is master: the session is not the active
// one, or the lender took the display back (EACCES of drm_ioctl() for whoever is not master).
inline bool is_master_loss(int sys_errno) noexcept
{
  return sys_errno == EACCES || sys_errno == EPERM;
}

// An object that this process made on a device, by its id; removed with this.
template <auto Remove> class OwnedId {
public:
  OwnedId() noexcept = default;
  // `drm_fd` is borrowed and outlives the object.
  OwnedId(int drm_fd, std::uint32_t id) noexcept : drm_fd_(drm_fd), id_(id) {}
  OwnedId(OwnedId &&other) noexcept : drm_fd_(other.drm_fd_), id_(other.release()) {}
  OwnedId &operator=(OwnedId &&other) noexcept
  {
    std::swap(drm_fd_, other.drm_fd_);
    std::swap(id_, other.id_);
    return *this;
  }
  OwnedId(const OwnedId &) = delete;
  OwnedId &operator=(const OwnedId &) = delete;
  ~OwnedId()
  {
    if (id_)
      Remove(drm_fd_, id_);
  }
  [[nodiscard]] std::uint32_t get() const noexcept { return id_; } // 0: there is none
  std::uint32_t release() noexcept { return std::exchange(id_, 0); }

private:
  int drm_fd_ = -1;
  std::uint32_t id_ = 0;
};

// A mode for instance. Once it was committed, the kernel's state keeps a reference of its own
// (drm_property.c), so this one may be dropped at any time.
using PropertyBlob = OwnedId<drmModeDestroyPropertyBlob>;

inline Result<PropertyBlob> make_blob(int drm_fd, const void *data, std::size_t size_bytes)
{
  std::uint32_t id = 0;
  if (const int ret = drmModeCreatePropertyBlob(drm_fd, data, size_bytes, &id); ret != 0)
    return device_error("The kernel made no property blob of " + std::to_string(size_bytes) +
                            " bytes: " + errno_text(-ret) + ".",
                        -ret);
  return PropertyBlob(drm_fd, id);
}

} // namespace gstdrm::kms
