// SPDX-License-Identifier: LGPL-2.1-or-later
// A display driver as plain values, for the fake libdrm: what it lists and what it refuses. Made of
// the settings of a profile (display_profiles.hpp).
//
// Settings are "key=value". Most begin with the planes that they concern: "primary", "overlay",
// "cursor", "planes" (all but the cursor), "all", or numbers in the order of the driver's list
// ("0:1"). Behind each "/" follows a list whose parts are separated by ":".
//   driver=NAME                  as drmGetVersion() says
//   planes=TYPE:TYPE*N:...       in the order of the driver's list
//   pairs=PLANES/FOURCCS/MODS    the plane takes each fourcc with each modifier; MODS "none": there
//                                is no IN_FORMATS, and modifiers are not supported at all
//   covers=PLANES                the plane has to cover the CRTC
//   scale=PLANES/UP/DOWN         how many times larger and smaller a picture can get
//   scale-yuv-down=X             the same limit for YUV
//   scale-error=NAME             in place of ERANGE
//   scalers=N                    so many planes of a CRTC scale at a time
//   zpos=PLANES/fixed/V          immutable; V "index": the plane's place in the list
//   zpos=PLANES/free/V/MIN/MAX
//   rotation=PLANES/VALUES       of 0, 90, 180, 270, x, y
//   quarter-turns=MODS           only these modifiers can be turned by 90 or 270 degrees
//   turns-yuv=0                  YUV cannot be turned
//   blend=PLANES/NAMES           "pixel blend mode": none, pre, coverage
//   alpha=PLANES                 "alpha"
//   colours=PLANES/ENCODINGS     "COLOR_ENCODING": 601, 709, 2020; "COLOR_RANGE" with both values,
//                                or with one, where "/limited" follows
//   even-yuv=1                   the source rectangle of subsampled YUV has even edges
//   smallest=PLANES/WxH          on the CRTC, in pixels
//   pitch=N                      ADDFB2 takes linear pitches that are multiples of N bytes
//   row-pixels=N                 rows have room for a width that is a multiple of N pixels
//   unmodified-only=PROPERTIES   size, format, pitch: a plane changes these in a mode set alone
//   needs-primary=1              no CRTC has a mode without its primary plane, lit or not
//   cursor=N                     size of cursor buffers, DRM_CAP_CURSOR_WIDTH
//   cursor-sizes=N:N             the cursor plane takes buffers of these widths alone
//   max-bpc=MIN:MAX              the connector's "max bpc"
//   writeback=FOURCCS            a writeback connector
//   async=1                      DRM_CAP_ATOMIC_ASYNC_PAGE_FLIP
//   link=bad                     the link of the display has been lost: "link-status" is Bad
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <drm_mode.h>

namespace gstdrm::test::fakedrm {

struct Device;
struct Commit;

struct EnumValue {
  std::string name;
  std::uint64_t value = 0;
};

struct PropertySpec {
  std::string name;
  std::uint32_t flags = 0;
  std::uint64_t value = 0;
  std::vector<EnumValue> enums{};
  std::optional<std::pair<std::uint64_t, std::uint64_t>> range{};
};

using ObjectList = std::vector<std::pair<std::uint32_t, std::vector<PropertySpec>>>;

struct PlaneModel {
  std::uint32_t id = 0;
  std::uint64_t type = 0; // DRM_PLANE_TYPE_*
  std::vector<std::pair<std::uint32_t, std::uint64_t>> pairs;
  bool covers = false;
  double up = 1, down = 1;
  bool has_zpos = false, zpos_is_fixed = false;
  std::uint64_t zpos = 0, least_zpos = 0, largest_zpos = 0;
  std::uint64_t rotations = 0; // DRM_MODE_ROTATE_*, DRM_MODE_REFLECT_*; 0: no property
  std::vector<EnumValue> blending, encodings, ranges;
  bool alpha = false;
  std::uint32_t least_width = 1, least_height = 1;

  [[nodiscard]] bool lists(std::uint32_t fourcc, std::uint64_t modifier) const;
  [[nodiscard]] std::vector<std::uint32_t> fourccs() const; // each once, in the order of the list
};

struct Model {
  std::string driver;
  std::vector<PlaneModel> planes;
  bool modifiers = true;
  double yuv_down = 0; // 0: as RGB
  int scale_error;     // ERANGE
  unsigned scalers = 1000;
  std::set<std::uint64_t> quarter_turns; // empty: every modifier
  bool turns_yuv = true;
  bool even_yuv = false;
  std::uint32_t pitch = 1;
  std::uint32_t row_pixels = 1;
  bool keeps_size = false, keeps_format = false, keeps_pitch = false; // but in a mode set
  bool needs_primary = false;
  std::uint32_t cursor = 64;
  std::set<std::uint32_t> cursor_sizes; // empty: any up to `cursor`
  std::optional<std::pair<std::uint64_t, std::uint64_t>> max_bpc;
  std::vector<std::uint32_t> writeback; // fourccs; empty: no such connector
  bool async = false;
  bool bad_link = false;
  ObjectList objects; // with their properties
  std::map<std::uint32_t, std::vector<std::uint8_t>> blobs;

  Model();
  [[nodiscard]] const PlaneModel *plane(std::uint32_t id) const;
  [[nodiscard]] std::vector<std::uint32_t> plane_ids() const;
  // What ADDFB2 refuses; empty: nothing.
  [[nodiscard]] std::string why_no_framebuffer(std::uint32_t fourcc, std::uint64_t modifier,
                                               std::uint32_t pitch_bytes) const;
};

// null: `error` says which setting or profile is not understood.
std::shared_ptr<const Model> make_model(std::string_view profile, std::string &error);
std::shared_ptr<const Model> make_model(const std::vector<std::string_view> &settings, std::string &error);

// The model's answer to a commit on the state that the device has; 0 or a negative errno, and why.
// The DRM core's rules (drm_atomic.c, drm_atomic_uapi.c, drm_property.c) come first, then those of the driver.
int check_model(const Device &device, const Commit &commit, std::string &why);

} // namespace gstdrm::test::fakedrm
