// SPDX-License-Identifier: LGPL-2.1-or-later
// The device's connectors, CRTCs and planes as they were when read, and the choice of those that
// one sink drives. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <xf86drmMode.h>

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/core/result.hpp>

#include "engine/card/kms_device.hpp"
#include "engine/card/kms_properties.hpp"
#include "kms_mode.hpp"

namespace gstdrm::kms {

enum class PlaneType { Primary, Overlay, Cursor };

struct Plane {
  std::uint32_t id = 0;
  PlaneType type = PlaneType::Overlay;
  std::uint32_t possible_crtcs = 0; // bit n: the CRTC with index n
  FormatSet formats;
  PropertySet properties;
};

struct Crtc {
  std::uint32_t id = 0;
  unsigned index = 0; // place in the kernel's list: the bit in possible_crtcs
  PropertySet properties;
};

struct Connector {
  std::uint32_t id = 0;
  std::string name; // "HDMI-A-1", as in sysfs and in compositors' configuration
  bool writeback = false;
  drmModeConnection connection = DRM_MODE_UNKNOWNCONNECTION;
  std::uint32_t possible_crtcs = 0;
  std::vector<drmModeModeInfo> modes;
  PropertySet properties;

  // A headset, or a display that is no part of the desktop for another reason (drm_connector.c).
  [[nodiscard]] bool is_non_desktop() const { return property_value(properties, "non-desktop") != 0; }
};

struct Resources {
  std::vector<Connector> connectors;
  std::vector<Crtc> crtcs;
  std::vector<Plane> planes;
  std::uint32_t min_width = 0, min_height = 0; // of a framebuffer, in pixels
  std::uint32_t max_width = 0, max_height = 0;
};

// Probes the connectors: with a real display this may take some tenths of a second.
Result<Resources> read_resources(const Device &device);

struct OutputRequest {
  std::string connector;      // name or number; empty: the first that is connected
  std::uint32_t plane_id = 0; // 0: any
  ModeRequest mode;
};

// What one sink drives.
struct Output {
  Connector connector;
  Crtc crtc;
  std::vector<Plane> planes;      // candidates for the picture, best first
  std::vector<Plane> crtc_planes; // every plane that this CRTC can take: turned off where not used
  std::optional<Connector> writeback; // shows what the CRTC scanned out
  ModeRequest mode_request;
  bool plane_named = false; // by the request: planes that it does not name are the application's

  // Union over the candidates.
  [[nodiscard]] FormatSet formats() const;
};

Result<Output> choose_output(const Resources &resources, const OutputRequest &request,
                             const std::string &device_name);

} // namespace gstdrm::kms
