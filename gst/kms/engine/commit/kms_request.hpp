// SPDX-License-Identifier: LGPL-2.1-or-later
// What one atomic commit says, as a value. Nothing is asked of the kernel before commit_request().
// One thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <drm_mode.h>

#include "engine/output/kms_output.hpp"
#include "kms_geometry.hpp"

namespace gstdrm::kms {

// What a stream says of its brightness and colours, for the display to know: static metadata of
// CTA-861-G (6.9) and SMPTE ST 2086.

// Values of CTA-861-G table 84 (EOTF)
enum class TransferFunction : std::uint8_t { Sdr = 0, TraditionalHdr = 1, Pq = 2, Hlg = 3 };

// CIE 1931, in units of 0.00002
struct Chromaticity {
  std::uint16_t x = 0;
  std::uint16_t y = 0;
  friend bool operator==(const Chromaticity &, const Chromaticity &) = default;
};

// 0 stands for unknown everywhere, as in the standard.
struct HdrMetadata {
  TransferFunction transfer = TransferFunction::Pq;
  std::array<Chromaticity, 3> primaries{}; // red, green, blue
  Chromaticity white_point;
  std::uint32_t max_luminance = 0;                 // of the mastering display, in 0.0001 cd/m2
  std::uint32_t min_luminance = 0;                 // the same
  std::uint32_t max_content_light_level = 0;       // cd/m2
  std::uint32_t max_frame_average_light_level = 0; // cd/m2
  friend bool operator==(const HdrMetadata &, const HdrMetadata &) = default;
};

// Contents of the connector's HDR_OUTPUT_METADATA blob.
hdr_output_metadata to_blob(const HdrMetadata &metadata);

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
  std::optional<Alpha> alpha; // nullopt if the format has none
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
  // The same, of an object that may have no such property.
  void set_if_there(std::uint32_t object_id, const PropertySet &properties, const char *name,
                    std::uint64_t value)
  {
    if (const std::uint32_t id = kms::property_id(properties, name))
      set(object_id, id, name, value);
  }
  // Sets an enumeration by the name of a value. Returns false if the object has no such property,
  // or the driver has no such value.
  bool set_named(std::uint32_t object_id, const PropertySet &properties, const char *name,
                 std::string_view value);
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
