// SPDX-License-Identifier: LGPL-2.1-or-later
// What one atomic commit says, as a value. Nothing is asked of the kernel before commit_request().
// One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/output/kms_output.hpp"
#include "kms_geometry.hpp"

namespace gstdrm::kms {

enum class ColorEncoding { Bt601, Bt709, Bt2020 };
enum class ColorRange { Limited, Full };
// How the colours of a picture with alpha are to be blended.
enum class Alpha {
  Straight,      // multiplied by alpha on their way to the screen, as GStreamer's formats are
  Premultiplied, // multiplied by alpha already
};

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
  std::optional<Alpha> alpha; // nothing: the format has none
};

class Request {
public:
  struct Assignment {
    std::uint32_t object_id = 0;
    std::uint32_t property_id = 0; // 0: the object has no property of that name
    const char *name = nullptr;    // borrowed, for the log
    std::uint64_t value = 0;
  };

  // `name` outlives the request.
  void set(std::uint32_t object_id, std::uint32_t property_id, const char *name,
           std::uint64_t value)
  {
    assignments_.push_back({object_id, property_id, name, value});
  }
  void set(std::uint32_t object_id, const PropertySet &properties, const char *name,
           std::uint64_t value)
  {
    set(object_id, kms::property_id(properties, name), name, value);
  }
  // Every property of the plane that says what it shows.
  void set_plane(const Plane &plane, std::uint32_t crtc_id, const PlaneSetup &setup);
  void disable_plane(const Plane &plane);
  // Keeps its memory, so that a request per frame allocates none.
  void clear() noexcept { assignments_.clear(); }

  [[nodiscard]] const std::vector<Assignment> &assignments() const noexcept { return assignments_; }

private:
  void set_blending(const Plane &plane, std::optional<Alpha> alpha);

  std::vector<Assignment> assignments_;
};

// One DRM_IOCTL_MODE_ATOMIC. 0, or a negative errno: -ENOENT where an object lacks a property.
// `flags` are DRM_MODE_ATOMIC_* and DRM_MODE_PAGE_FLIP_EVENT; `serial` comes back with the event.
// With GST_DEBUG at LOG the commit is logged with all of its properties.
int commit_request(int drm_fd, const Request &request, std::uint32_t flags, std::uint64_t serial);

} // namespace gstdrm::kms
