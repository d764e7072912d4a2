// SPDX-License-Identifier: LGPL-2.1-or-later
// A CRTC that another program has lit, such as the one of a user interface, and the plane on it
// that a sink shows its picture with. The sink sets no mode there, and touches no other object.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <xf86drmMode.h>

#include <gst/drm/core/result.hpp>

#include "kms_output.hpp"

namespace gstdrm::kms {

// The mode of a CRTC with these properties; nullopt if it is off or gone.
std::optional<drmModeModeInfo> lit_mode(int drm_fd, const PropertySet &crtc);
// The same, of the CRTC as it is now.
std::optional<drmModeModeInfo> read_lit_mode(int drm_fd, std::uint32_t crtc_id);
// When its last vblank was, CLOCK_MONOTONIC in ns; nothing: its driver has none, or it is dark.
std::optional<std::int64_t> last_vblank(int drm_fd, std::uint32_t crtc_id);

// Whether the request is for a CRTC that is lit already, if there is one.
bool wants_join(const OutputRequest &request);

// Whether a sink may show on a plane that its request does not name.
using UsablePlane = std::function<bool(const Plane &plane)>;

// The lit output of the request, with one plane: the one that the request names, else the usable
// one with the most formats. Error: why there is none, and what helps.
Result<Output> join_output(const Resources &resources, const OutputRequest &request,
                           const UsablePlane &is_usable, const std::string &device_name);

} // namespace gstdrm::kms
