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

// A property blob that this process made, a mode for instance. Once it was committed, the kernel's
// state keeps a reference of its own (drm_property.c), so this one may be dropped at any time.
class PropertyBlob {
public:
  PropertyBlob() noexcept = default;
  PropertyBlob(PropertyBlob &&other) noexcept
      : drm_fd_(other.drm_fd_), id_(std::exchange(other.id_, 0))
  {
  }
  PropertyBlob &operator=(PropertyBlob &&other) noexcept
  {
    std::swap(drm_fd_, other.drm_fd_);
    std::swap(id_, other.id_);
    return *this;
  }
  PropertyBlob(const PropertyBlob &) = delete;
  PropertyBlob &operator=(const PropertyBlob &) = delete;
  ~PropertyBlob()
  {
    if (id_)
      drmModeDestroyPropertyBlob(drm_fd_, id_);
  }

  // `drm_fd` is borrowed and must outlive the blob.
  static Result<PropertyBlob> create(int drm_fd, const void *data, std::size_t size_bytes)
  {
    PropertyBlob blob;
    blob.drm_fd_ = drm_fd;
    if (const int ret = drmModeCreatePropertyBlob(drm_fd, data, size_bytes, &blob.id_); ret != 0) {
      blob.id_ = 0;
      return device_error("The kernel made no property blob of " + std::to_string(size_bytes) +
                              " bytes: " + errno_text(-ret) + ".",
                          -ret);
    }
    return blob;
  }

  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }

private:
  int drm_fd_ = -1;
  std::uint32_t id_ = 0;
};

} // namespace gstdrm::kms
