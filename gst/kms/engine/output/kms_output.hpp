// SPDX-License-Identifier: LGPL-2.1-or-later
// The device's connectors, CRTCs and planes as they were when read, and the choice of those that
// one sink drives. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <xf86drmMode.h>

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/core/result.hpp>

#include "engine/card/kms_device.hpp"
#include "engine/card/kms_properties.hpp"
#include "kms_mode.hpp"
#include "kms_user_properties.hpp"

namespace gstdrm::kms {

// What a display says of its colours in its EDID: bytes that anybody may have written.

// Of CTA-861-G; nothing is set where the display says nothing.
struct DisplayColour {
  // The transfer functions of HDR static metadata (7.5.13): bit n is value n of table 84 (EOTF).
  // Empty also where the display does not take metadata of type 1.
  std::uint8_t transfers = 0;
  bool bt2020_rgb = false; // the colorimetry data block (7.5.5)
};

// An EDID with its extensions. Blocks with a wrong checksum count as not there.
DisplayColour read_display_colour(std::span<const std::uint8_t> edid);

enum class PlaneType { Primary, Overlay, Cursor };

struct Plane {
  std::uint32_t id = 0;
  PlaneType type = PlaneType::Overlay;
  std::uint32_t possible_crtcs = 0; // bit n: the CRTC with index n
  FormatSet formats;
  PropertySet properties;
  std::vector<PropertySetting> settings; // the application's, where the picture is on this plane

  // The CRTC that the plane shows something on; 0 if there is none.
  [[nodiscard]] std::uint64_t user() const { return property_value(properties, "CRTC_ID"); }
};

struct Crtc {
  std::uint32_t id = 0;
  unsigned index = 0; // place in the kernel's list: the bit in possible_crtcs
  PropertySet properties;
  std::optional<drmModeModeInfo> mode; // active mode; nullopt if the CRTC is off

  // `possible_crtcs` are those of a plane or a connector.
  [[nodiscard]] bool is_among(std::uint32_t possible_crtcs) const noexcept
  {
    return (possible_crtcs >> index & 1) != 0;
  }
};

struct Connector {
  std::uint32_t id = 0;
  std::string name; // "HDMI-A-1", as in sysfs and in compositors' configuration
  bool writeback = false;
  drmModeConnection connection = DRM_MODE_UNKNOWNCONNECTION;
  std::uint32_t possible_crtcs = 0;
  std::vector<drmModeModeInfo> modes;
  std::vector<std::uint8_t> edid; // what the display says of itself; empty if there is nothing
  DisplayColour colour;           // of the EDID
  std::vector<std::uint8_t> path; // of a DisplayPort hub's port ("PATH"); empty if there is none
  std::uint32_t width_mm = 0, height_mm = 0; // of the screen; 0 if not known
  PropertySet properties;
  std::vector<PropertySetting> settings; // the application's

  // The CRTC that drives it; 0 if there is none.
  [[nodiscard]] std::uint64_t crtc() const { return property_value(properties, "CRTC_ID"); }
  // A headset, or a display that is no part of the desktop for another reason (drm_connector.c).
  [[nodiscard]] bool is_non_desktop() const
  {
    return property_value(properties, "non-desktop") != 0;
  }
};

enum class Probe {
  Never,    // what the kernel knows
  IfNeeded, // where a hotplug event has come since the last probe
  Always,
};
// With IfNeeded, what the request names is probed, and nothing else; empty: any.
Result<Connector> read_connector(Device &device, std::uint32_t id, PropertyReader &reader,
                                 Probe probe, const std::string &wanted = {});

// The connector that has come in the place of one that is gone, or whose cable is: a DisplayPort
// hub (MST) that is plugged in again has new connectors for its ports, with other numbers and
// perhaps other names. Returns nullopt if there is none.
std::optional<Connector> find_successor(Device &device, const Connector &old,
                                        PropertyReader &reader);

// The mode of a CRTC with these properties; nullopt if it is off or gone.
std::optional<drmModeModeInfo> lit_mode(int drm_fd, const PropertySet &crtc);
// The same, of the CRTC as it is now.
std::optional<drmModeModeInfo> read_lit_mode(int drm_fd, std::uint32_t crtc_id);
// When its last vblank was, CLOCK_MONOTONIC in ns; nullopt if its driver has none, or it is dark.
std::optional<std::int64_t> last_vblank(int drm_fd, std::uint32_t crtc_id);

struct Resources {
  std::vector<Connector> connectors;
  std::vector<Crtc> crtcs;
  std::vector<Plane> planes;
  std::uint32_t min_width = 0, min_height = 0; // of a framebuffer, in pixels
  std::uint32_t max_width = 0, max_height = 0;

  // That of the name or number, among those that show pictures; nullptr if there is none.
  [[nodiscard]] const Connector *named_connector(const std::string &text) const;
};

// `connector` is what the request names: only that one is probed, where it has to be. Empty: each
// of them, which with real displays may take some tenths of a second.
Result<Resources> read_resources(Device &device, const std::string &connector);

struct OutputRequest {
  std::string connector;      // name or number; empty: the first that is connected
  std::uint32_t plane_id = 0; // 0: any
  ModeRequest mode;
  ModeChanges mode_changes = ModeChanges::Auto; // for a mode that is not named
  // With ModeRequest::Kind::Auto: join a CRTC that another program has lit, where a plane is left.
  bool may_join = false;
  std::vector<UserProperty> connector_properties;
  std::vector<UserProperty> plane_properties;
  bool vrr = false;     // the display refreshes when a frame comes
  bool tearing = false; // flips do not wait for the vertical blank
  // Planes take each fourcc that they list also without a modifier, as the driver finds the layout.
  bool implicit_modifiers = false;
};

// "31, 38"; "none" of no planes.
std::string list_planes(const std::vector<Plane> &planes);

// What one sink drives.
struct Output {
  Connector connector;
  Crtc crtc;
  std::vector<Plane> planes;      // candidates for the picture, best first
  std::vector<Plane> crtc_planes; // every plane that this CRTC can take: turned off where not used
  std::optional<Connector> writeback; // shows what the CRTC scanned out
  ModeRequest mode_request;
  ModeChanges mode_changes = ModeChanges::Auto;
  std::optional<drmModeModeInfo> found_mode; // what the display showed when the output was read
  bool vrr = false;
  bool tearing = false;
  bool plane_named = false; // by the request: planes that it does not name are the application's
  // The mode that another program has set on the CRTC, in which the picture is shown beside that
  // program's planes (join_output()). All but the one plane is the other program's. nullopt if
  // the output is the sink's own, mode sets included.
  std::optional<drmModeModeInfo> joined;

  // Union over the candidates.
  [[nodiscard]] FormatSet formats() const;
  // The first of crtc_planes that has the type; nullptr if there is none.
  [[nodiscard]] const Plane *plane_of(PlaneType type) const;
};

Result<Output> choose_output(const Resources &resources, const OutputRequest &request,
                             const std::string &device_name);

} // namespace gstdrm::kms
