// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_output.hpp"

#include <algorithm>
#include <cerrno>

#include "engine/card/kms_objects.hpp"
#include "kms_formats.hpp"

namespace gstdrm::kms {

namespace {

std::uint32_t connector_crtcs(int fd, const drmModeConnector &connector)
{
  std::uint32_t mask = 0;
  for (int i = 0; i < connector.count_encoders; i++)
    if (const EncoderPtr encoder{drmModeGetEncoder(fd, connector.encoders[i])})
      mask |= encoder->possible_crtcs;
  return mask;
}

Result<Connector> read_connector(int fd, std::uint32_t id, PropertyReader &reader)
{
  const ConnectorPtr raw(drmModeGetConnector(fd, id));
  const int error = errno;
  if (!raw)
    return device_error("Connector " + std::to_string(id) +
                            " cannot be read: " + errno_text(error) + ". Was the device removed?",
                        error);
  Connector connector;
  connector.id = id;
  const char *type = drmModeGetConnectorTypeName(raw->connector_type);
  connector.name =
      std::string(type ? type : "Unknown") + "-" + std::to_string(raw->connector_type_id);
  connector.writeback = raw->connector_type == DRM_MODE_CONNECTOR_WRITEBACK;
  connector.connection = raw->connection;
  connector.possible_crtcs = connector_crtcs(fd, *raw);
  connector.modes.assign(raw->modes, raw->modes + raw->count_modes);
  Result<PropertySet> properties = reader.read(id, DRM_MODE_OBJECT_CONNECTOR);
  if (!properties)
    return properties.error();
  connector.properties = std::move(*properties);
  return connector;
}

// A blob that cannot be read or parsed counts as none: the plane's formats are implicit then.
FormatSet plane_formats(int fd, const drmModePlane &raw, const PropertySet &properties,
                        bool takes_modifiers)
{
  const auto blob_id = static_cast<std::uint32_t>(property_value(properties, "IN_FORMATS"));
  if (takes_modifiers && blob_id != 0) {
    if (Result<std::vector<std::uint8_t>> blob = read_blob(fd, blob_id)) {
      Result<FormatSet> formats = parse_in_formats(*blob);
      if (formats && !formats->empty())
        return std::move(*formats);
    }
  }
  return implicit_formats({raw.formats, raw.count_formats});
}

Result<Plane> read_plane(const Device &device, std::uint32_t id, PropertyReader &reader)
{
  const PlanePtr raw(drmModeGetPlane(device.fd(), id));
  const int error = errno;
  if (!raw)
    return device_error("Plane " + std::to_string(id) + " cannot be read: " + errno_text(error) +
                            ". Was the device removed?",
                        error);
  Plane plane;
  plane.id = id;
  plane.possible_crtcs = raw->possible_crtcs;
  Result<PropertySet> properties = reader.read(id, DRM_MODE_OBJECT_PLANE);
  if (!properties)
    return properties.error();
  plane.properties = std::move(*properties);
  switch (property_value(plane.properties, "type")) {
  case DRM_PLANE_TYPE_PRIMARY:
    plane.type = PlaneType::Primary;
    break;
  case DRM_PLANE_TYPE_CURSOR:
    plane.type = PlaneType::Cursor;
    break;
  default:
    plane.type = PlaneType::Overlay;
  }
  plane.formats = plane_formats(device.fd(), *raw, plane.properties, device.takes_modifiers());
  return plane;
}

Result<void> read_planes(const Device &device, PropertyReader &reader, Resources &resources)
{
  const PlaneResPtr planes(drmModeGetPlaneResources(device.fd()));
  const int error = errno;
  if (!planes)
    return device_error(
        "The planes of " + device.name() + " cannot be listed: " + errno_text(error) + ".", error);
  for (std::uint32_t i = 0; i < planes->count_planes; i++) {
    Result<Plane> plane = read_plane(device, planes->planes[i], reader);
    if (!plane)
      return plane.error();
    resources.planes.push_back(std::move(*plane));
  }
  return {};
}

std::string list_connectors(const Resources &resources)
{
  std::string text;
  for (const Connector &connector : resources.connectors) {
    if (connector.writeback)
      continue;
    text += text.empty() ? "" : ", ";
    text += connector.name + " (" + std::to_string(connector.id) +
            (connector.is_non_desktop()                      ? ", no desktop: name it)"
             : connector.connection == DRM_MODE_CONNECTED    ? ", connected)"
             : connector.connection == DRM_MODE_DISCONNECTED ? ", disconnected)"
                                                             : ", unknown)");
  }
  return text.empty() ? "none" : text;
}

// Connected outputs first, then those whose state the driver cannot tell. A headset (drm_connector.c,
// "non-desktop") shows a picture only where it is named.
const Connector *find_connector(const Resources &resources, const std::string &wanted)
{
  const Connector *best = nullptr;
  for (const Connector &connector : resources.connectors) {
    if (connector.writeback)
      continue;
    if (!wanted.empty()) {
      if (connector.name == wanted || std::to_string(connector.id) == wanted)
        return &connector;
      continue;
    }
    if (connector.modes.empty() || connector.connection == DRM_MODE_DISCONNECTED ||
        connector.is_non_desktop())
      continue;
    if (!best ||
        (best->connection != DRM_MODE_CONNECTED && connector.connection == DRM_MODE_CONNECTED))
      best = &connector;
  }
  return best;
}

bool crtc_is_taken(const Resources &resources, std::uint32_t crtc_id, std::uint32_t by_other_than)
{
  return std::any_of(resources.connectors.begin(), resources.connectors.end(),
                     [&](const Connector &connector) {
                       return connector.id != by_other_than && !connector.writeback &&
                              property_value(connector.properties, "CRTC_ID") == crtc_id;
                     });
}

using Crtcs = std::vector<const Crtc *>;

bool can_drive(const Crtc &crtc, const Connector &connector)
{
  return (connector.possible_crtcs >> crtc.index & 1) != 0;
}

// Finds a CRTC for `connector`, moving connectors that have one already to others of theirs (Kuhn's
// algorithm). `user` has the connector of each CRTC, or null.
bool assign(const Connector &connector, const Crtcs &crtcs, std::vector<const Connector *> &user,
            std::vector<bool> &tried)
{
  for (std::size_t i = 0; i < crtcs.size(); i++) {
    if (tried[i] || !can_drive(*crtcs[i], connector))
      continue;
    tried[i] = true;
    if (!user[i] || assign(*user[i], crtcs, user, tried)) {
      user[i] = &connector;
      return true;
    }
  }
  return false;
}

// How many of the connectors can be lit at once with these CRTCs.
std::size_t count_lit(const std::vector<const Connector *> &connectors, const Crtcs &crtcs)
{
  std::vector<const Connector *> user(crtcs.size());
  std::size_t lit = 0;
  for (const Connector *connector : connectors) {
    std::vector<bool> tried(crtcs.size());
    lit += assign(*connector, crtcs, user, tried);
  }
  return lit;
}

// The CRTC that drives the connector at present, else a free one: the one that leaves CRTCs for most of the other
// displays that wait for one, such as those of the sinks that start next.
const Crtc *find_crtc(const Resources &resources, const Connector &connector)
{
  const std::uint64_t current = property_value(connector.properties, "CRTC_ID");
  Crtcs free;
  for (const Crtc &crtc : resources.crtcs) {
    if (current != 0 && crtc.id == current)
      return &crtc;
    if (!crtc_is_taken(resources, crtc.id, connector.id))
      free.push_back(&crtc);
  }
  std::vector<const Connector *> waiting;
  for (const Connector &other : resources.connectors)
    if (other.id != connector.id && !other.writeback && !other.modes.empty() &&
        other.connection == DRM_MODE_CONNECTED && property_value(other.properties, "CRTC_ID") == 0)
      waiting.push_back(&other);
  const Crtc *best = nullptr;
  std::size_t best_lit = 0;
  for (const Crtc *crtc : free) {
    if (!can_drive(*crtc, connector))
      continue;
    Crtcs rest = free;
    std::erase(rest, crtc);
    const std::size_t lit = count_lit(waiting, rest);
    if (!best || lit > best_lit) {
      best = crtc;
      best_lit = lit;
    }
  }
  return best;
}

std::vector<Plane> planes_of(const Resources &resources, const Crtc &crtc)
{
  std::vector<Plane> planes;
  for (const Plane &plane : resources.planes)
    if (plane.possible_crtcs >> crtc.index & 1)
      planes.push_back(plane);
  std::stable_sort(planes.begin(), planes.end(),
                   [](const Plane &a, const Plane &b) { return a.type < b.type; });
  return planes;
}

// A plane that another CRTC uses at present is left out, although this CRTC could take it.
bool is_candidate(const Plane &plane, const Crtc &crtc)
{
  const std::uint64_t user = property_value(plane.properties, "CRTC_ID");
  return plane.type != PlaneType::Cursor && (user == 0 || user == crtc.id);
}

} // namespace

FormatSet Output::formats() const
{
  FormatSet all;
  for (const Plane &plane : planes)
    all = FormatSet::unite(all, plane.formats);
  return all;
}

Result<Resources> read_resources(const Device &device)
{
  const ResPtr raw(drmModeGetResources(device.fd()));
  const int error = errno;
  if (!raw)
    return device_error(device.name() + " has no display outputs: MODE_GETRESOURCES: " +
                            errno_text(error) + ". Choose another card.",
                        error);
  PropertyReader reader(device.fd());
  Resources resources;
  resources.min_width = raw->min_width;
  resources.max_width = raw->max_width;
  resources.min_height = raw->min_height;
  resources.max_height = raw->max_height;
  for (int i = 0; i < raw->count_crtcs; i++) {
    Result<PropertySet> properties = reader.read(raw->crtcs[i], DRM_MODE_OBJECT_CRTC);
    if (!properties)
      return properties.error();
    resources.crtcs.push_back(
        Crtc{raw->crtcs[i], static_cast<unsigned>(i), std::move(*properties)});
  }
  for (int i = 0; i < raw->count_connectors; i++) {
    Result<Connector> connector = read_connector(device.fd(), raw->connectors[i], reader);
    if (!connector)
      return connector.error();
    resources.connectors.push_back(std::move(*connector));
  }
  if (Result<void> planes = read_planes(device, reader, resources); !planes)
    return planes.error();
  return resources;
}

Result<Output> choose_output(const Resources &resources, const OutputRequest &request,
                             const std::string &device_name)
{
  const Connector *connector = find_connector(resources, request.connector);
  if (!connector)
    return device_error(request.connector.empty()
                            ? "No output of " + device_name +
                                  " is connected. Connectors: " + list_connectors(resources) +
                                  ". Plug a display in, or force one with connector."
                            : device_name + " has no connector " + request.connector +
                                  ". Connectors: " + list_connectors(resources) +
                                  ". Choose one of these with connector.",
                        ENODEV);
  if (connector->modes.empty())
    return device_error("Connector " + connector->name + " of " + device_name +
                            " has no modes: no display is connected to it. Connectors: " +
                            list_connectors(resources) + ".",
                        ENODEV);
  const Crtc *crtc = find_crtc(resources, *connector);
  if (!crtc)
    return device_error("No CRTC of " + device_name + " is free for connector " + connector->name +
                            ". Turn another output off, or choose another connector.",
                        EBUSY);

  Output output{
      *connector,           *crtc, {}, planes_of(resources, *crtc), std::nullopt, request.mode,
      request.plane_id != 0};
  for (const Plane &plane : output.crtc_planes)
    if (request.plane_id ? plane.id == request.plane_id : is_candidate(plane, *crtc))
      output.planes.push_back(plane);
  if (output.planes.empty()) {
    std::string ids;
    for (const Plane &plane : output.crtc_planes)
      ids += (ids.empty() ? "" : ", ") + std::to_string(plane.id);
    return device_error("Plane " + std::to_string(request.plane_id) + " of " + device_name +
                            " cannot show a picture on connector " + connector->name +
                            ". Its planes: " + (ids.empty() ? "none" : ids) +
                            ". Choose one of these with plane-id.",
                        EINVAL);
  }
  for (const Connector &candidate : resources.connectors)
    if (candidate.writeback && (candidate.possible_crtcs >> crtc->index & 1) && !output.writeback)
      output.writeback = candidate;
  return output;
}

} // namespace gstdrm::kms
