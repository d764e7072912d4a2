// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_join.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "engine/card/kms_objects.hpp"

namespace gstdrm::kms {

namespace {

bool takes(const Plane &plane, const Crtc &crtc)
{
  return (plane.possible_crtcs >> crtc.index & 1) != 0;
}

const Crtc *lit_crtc(const Resources &resources, const Connector &connector)
{
  const std::uint64_t id = property_value(connector.properties, "CRTC_ID");
  for (const Crtc &crtc : resources.crtcs)
    if (crtc.id == id && crtc.mode)
      return &crtc;
  return nullptr;
}

const Plane *named_plane(const Resources &resources, std::uint32_t id)
{
  const auto it = std::find_if(resources.planes.begin(), resources.planes.end(),
                               [id](const Plane &plane) { return plane.id == id; });
  return it == resources.planes.end() ? nullptr : &*it;
}

// The one that the request names, lit or not; else the first that is lit, by a CRTC that takes the
// plane.
const Connector *find_connector(const Resources &resources, const OutputRequest &request)
{
  const Plane *plane = named_plane(resources, request.plane_id);
  for (const Connector &connector : resources.connectors) {
    if (connector.writeback)
      continue;
    if (!request.connector.empty()) {
      if (connector.name == request.connector || std::to_string(connector.id) == request.connector)
        return &connector;
      continue;
    }
    const Crtc *crtc = lit_crtc(resources, connector);
    if (crtc && (!plane || takes(*plane, *crtc)))
      return &connector;
  }
  return nullptr;
}

// Of the usable planes: the one with the most formats, overlays first.
const Plane *spare_plane(const Resources &resources, const Crtc &crtc, const UsablePlane &is_usable)
{
  const Plane *best = nullptr;
  const auto better = [&best](const Plane &plane) {
    const bool overlay = plane.type == PlaneType::Overlay;
    const bool best_overlay = best->type == PlaneType::Overlay;
    return overlay != best_overlay ? overlay : plane.formats.size() > best->formats.size();
  };
  for (const Plane &plane : resources.planes)
    if (plane.type != PlaneType::Cursor && takes(plane, crtc) && is_usable(plane) &&
        (!best || better(plane)))
      best = &plane;
  return best;
}

Error no_connector(const OutputRequest &request, const std::string &device_name)
{
  if (!request.connector.empty())
    return device_error(device_name + " has no connector " + request.connector +
                            ". Choose another with connector.",
                        ENODEV);
  return device_error("Nothing is shown on " + device_name +
                          ", so there is no mode to join. Start the program that sets it first, or "
                          "set one with mode=match.",
                      ENODEV);
}

// Why the plane that the request names cannot be used on the CRTC; empty if it can.
std::string why_not(const Plane *plane, const Crtc &crtc)
{
  if (!plane)
    return "there is no such plane";
  if (!takes(*plane, crtc))
    return "it does not belong to CRTC " + std::to_string(crtc.id);
  const std::uint64_t user = property_value(plane->properties, "CRTC_ID");
  if (user != 0 && user != crtc.id)
    return "it is used by CRTC " + std::to_string(user);
  return {};
}

} // namespace

std::optional<drmModeModeInfo> lit_mode(int drm_fd, const PropertySet &crtc)
{
  const auto blob_id = static_cast<std::uint32_t>(property_value(crtc, "MODE_ID"));
  if (property_value(crtc, "ACTIVE") == 0 || blob_id == 0)
    return std::nullopt;
  const Result<std::vector<std::uint8_t>> blob = read_blob(drm_fd, blob_id);
  drmModeModeInfo mode{};
  if (!blob || blob->size() != sizeof(mode))
    return std::nullopt;
  std::memcpy(&mode, blob->data(), sizeof(mode));
  return mode;
}

std::optional<drmModeModeInfo> read_lit_mode(int drm_fd, std::uint32_t crtc_id)
{
  const Result<PropertySet> crtc = PropertyReader(drm_fd).read(crtc_id, DRM_MODE_OBJECT_CRTC);
  return crtc ? lit_mode(drm_fd, *crtc) : std::nullopt;
}

// Waits for no vblank. It takes the CRTC's lock for a moment, as the commit after it does
// (drm_vblank.c, drm_crtc_get_sequence_ioctl()). Returns 0 if no interrupt has told the time yet.
std::optional<std::int64_t> last_vblank(int drm_fd, std::uint32_t crtc_id)
{
  std::uint64_t sequence = 0, time_ns = 0;
  if (drmCrtcGetSequence(drm_fd, crtc_id, &sequence, &time_ns) != 0 || time_ns == 0)
    return {};
  return static_cast<std::int64_t>(time_ns);
}

bool wants_join(const OutputRequest &request)
{
  return request.mode.kind == ModeRequest::Kind::Current ||
         (request.mode.kind == ModeRequest::Kind::Auto && request.may_join);
}

Result<Output> join_output(const Resources &resources, const OutputRequest &request,
                           const UsablePlane &is_usable, const std::string &device_name)
{
  const Connector *connector = find_connector(resources, request);
  if (!connector)
    return no_connector(request, device_name);
  const Crtc *crtc = lit_crtc(resources, *connector);
  if (!crtc)
    return device_error("Connector " + connector->name + " of " + device_name +
                            " shows nothing, so there is no mode to join. Start the program that "
                            "sets it first, or set one with mode=match.",
                        ENODEV);
  const Plane *plane = request.plane_id ? named_plane(resources, request.plane_id)
                                        : spare_plane(resources, *crtc, is_usable);
  if (request.plane_id)
    if (const std::string reason = why_not(plane, *crtc); !reason.empty())
      return device_error("Plane " + std::to_string(request.plane_id) + " of " + device_name +
                              " cannot show a picture on connector " + connector->name + ": " +
                              reason + ". Choose another with plane-id.",
                          EBUSY);
  if (!plane)
    return device_error("No plane of " + device_name + " is left for connector " + connector->name +
                            ": other programs use them all. Name one with plane-id to "
                            "replace what it shows, or take the display with mode=match.",
                        EBUSY);
  Output output;
  output.connector = *connector;
  output.crtc = *crtc;
  output.planes = {*plane};
  output.crtc_planes = {*plane};
  output.mode_request.kind = ModeRequest::Kind::Current;
  output.plane_named = true;
  output.joined = crtc->mode;
  return output;
}

} // namespace gstdrm::kms
