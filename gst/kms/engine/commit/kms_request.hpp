// SPDX-License-Identifier: LGPL-2.1-or-later
// One atomic commit under construction: property values, and nothing done until commit(). One
// thread.
#pragma once

#include <cstdint>
#include <vector>

#include <gst/drm/core/log.hpp>

#include "kms_geometry.hpp"
#include "engine/card/kms_objects.hpp"
#include "engine/output/kms_output.hpp"

namespace gstdrm::kms {

enum class ColorEncoding { Bt601, Bt709, Bt2020 };
enum class ColorRange { Limited, Full };

// A rectangle of a framebuffer and where it goes. SRC_* of the kernel are 16.16 fixed point, CRTC_*
// pixels.
struct PlaneSetup {
  std::uint32_t framebuffer_id = 0;
  Rectangle source;
  Rectangle destination;                         // on the CRTC
  std::uint32_t rotation = DRM_MODE_ROTATE_0;    // DRM_MODE_ROTATE_* and DRM_MODE_REFLECT_*
  int zpos = -1;                                 // -1: what the driver has
  ColorEncoding encoding = ColorEncoding::Bt601; // for YCbCr formats
  ColorRange range = ColorRange::Limited;
};

class Request {
public:
  explicit Request(int drm_fd) noexcept
      : drm_fd_(drm_fd), is_logged_(log_reads(LogLevel::Log)), request_(drmModeAtomicAlloc())
  {
  }

  // `name` is a literal, for the log. A property that the object lacks (id 0) makes commit() return
  // -ENOENT.
  void set(std::uint32_t object_id, std::uint32_t property_id, const char *name,
           std::uint64_t value);
  void set(std::uint32_t object_id, const PropertySet &properties, const char *name,
           std::uint64_t value)
  {
    set(object_id, kms::property_id(properties, name), name, value);
  }
  // Every property of the plane that says what it shows.
  void set_plane(const Plane &plane, std::uint32_t crtc_id, const PlaneSetup &setup);
  void disable_plane(const Plane &plane);

  // One DRM_IOCTL_MODE_ATOMIC. 0, or a negative errno. `flags` are DRM_MODE_ATOMIC_* and
  // DRM_MODE_PAGE_FLIP_EVENT; `serial` comes back with the event. With GST_DEBUG at LOG the commit
  // is logged with all of its properties.
  int commit(std::uint32_t flags, std::uint64_t serial);

private:
  struct Assignment {
    std::uint32_t object_id = 0;
    std::uint32_t property_id = 0;
    const char *name = nullptr;
    std::uint64_t value = 0;
  };
  void log_properties(std::uint32_t flags, std::uint64_t serial) const;
  static void log_result(std::uint32_t flags, std::uint64_t serial, int ret);

  int drm_fd_; // borrowed
  bool is_logged_;
  std::vector<Assignment> assignments_; // empty unless the request is logged
  AtomicReqPtr request_;
  int error_ = 0;
};

} // namespace gstdrm::kms
