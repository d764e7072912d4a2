// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <xf86drm.h>

#include <gst/drm/core/in_formats.hpp>

#include "engine/card/kms_objects.hpp"

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

std::vector<std::uint8_t> read_bytes(int fd, const PropertySet &properties, const char *name)
{
  const auto id = static_cast<std::uint32_t>(property_value(properties, name));
  if (id == 0)
    return {};
  Result<std::vector<std::uint8_t>> blob = read_blob(fd, id);
  return blob ? std::move(*blob) : std::vector<std::uint8_t>();
}

std::string name_of(const drmModeConnector &raw)
{
  const char *type = drmModeGetConnectorTypeName(raw.connector_type);
  return std::string(type ? type : "Unknown") + "-" + std::to_string(raw.connector_type_id);
}

// What the kernel knows, of a connector that need not be probed.
ConnectorPtr known_connector(Device &device, std::uint32_t id, const std::string &wanted,
                             std::uint64_t events)
{
  ConnectorPtr known(drmModeGetConnectorCurrent(device.fd(), id));
  if (!known || known->connector_type == DRM_MODE_CONNECTOR_WRITEBACK)
    return known;
  const bool is_wanted =
      wanted.empty() || name_of(*known) == wanted || std::to_string(id) == wanted;
  return is_wanted && !device.probes().was_probed(id, events) ? nullptr : std::move(known);
}

// For whoever is not master the kernel makes no probe, and answers what it knows already
// (drm_connector.c, drm_mode_getconnector(), Linux 5.14).
ConnectorPtr probed_connector(Device &device, std::uint32_t id, std::uint64_t events)
{
  const bool is_master = drmIsMaster(device.fd()) != 0;
  ConnectorPtr probed(drmModeGetConnector(device.fd(), id));
  if (probed && is_master)
    device.probes().probed(id, events);
  return probed;
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

// Connected outputs first, then those whose state the driver cannot tell. A headset
// (drm_connector.c, "non-desktop") shows a picture only where it is named.
const Connector *best_connector(const Resources &resources)
{
  const Connector *best = nullptr;
  for (const Connector &connector : resources.connectors) {
    if (connector.writeback || connector.modes.empty() ||
        connector.connection == DRM_MODE_DISCONNECTED || connector.is_non_desktop())
      continue;
    if (!best ||
        (best->connection != DRM_MODE_CONNECTED && connector.connection == DRM_MODE_CONNECTED))
      best = &connector;
  }
  return best;
}

std::vector<Plane> planes_of(const Resources &resources, const Crtc &crtc)
{
  std::vector<Plane> planes;
  for (const Plane &plane : resources.planes)
    if (crtc.is_among(plane.possible_crtcs))
      planes.push_back(plane);
  std::stable_sort(planes.begin(), planes.end(),
                   [](const Plane &a, const Plane &b) { return a.type < b.type; });
  return planes;
}

// A plane that another CRTC uses at present is left out, although this CRTC could take it.
bool is_candidate(const Plane &plane, const Crtc &crtc)
{
  return plane.type != PlaneType::Cursor && (plane.user() == 0 || plane.user() == crtc.id);
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

Result<Connector> read_connector(Device &device, std::uint32_t id, PropertyReader &reader,
                                 Probe probe, const std::string &wanted)
{
  const std::uint64_t events = device.probes().events();
  ConnectorPtr raw;
  if (probe == Probe::IfNeeded)
    raw = known_connector(device, id, wanted, events);
  if (probe == Probe::Never)
    raw.reset(drmModeGetConnectorCurrent(device.fd(), id));
  else if (!raw)
    raw = probed_connector(device, id, events);
  const int error = errno;
  if (!raw)
    return device_error("Connector " + std::to_string(id) +
                            " cannot be read: " + errno_text(error) + ". Was the device removed?",
                        error);
  Connector connector;
  connector.id = id;
  connector.name = name_of(*raw);
  connector.writeback = raw->connector_type == DRM_MODE_CONNECTOR_WRITEBACK;
  connector.connection = raw->connection;
  connector.possible_crtcs = connector_crtcs(device.fd(), *raw);
  connector.modes.assign(raw->modes, raw->modes + raw->count_modes);
  Result<PropertySet> properties = reader.read(id, DRM_MODE_OBJECT_CONNECTOR);
  if (!properties)
    return properties.error();
  connector.properties = std::move(*properties);
  connector.edid = read_bytes(device.fd(), connector.properties, "EDID");
  connector.colour = read_display_colour(connector.edid);
  connector.path = read_bytes(device.fd(), connector.properties, "PATH");
  connector.width_mm = raw->mmWidth;
  connector.height_mm = raw->mmHeight;
  return connector;
}

std::optional<Connector> find_successor(Device &device, const Connector &old,
                                        PropertyReader &reader)
{
  const ResPtr res(drmModeGetResources(device.fd()));
  for (int i = 0; res && i < res->count_connectors; i++) {
    const std::uint32_t id = res->connectors[i];
    if (id == old.id || device.reservations().contains(id))
      continue;
    Result<Connector> other = read_connector(device, id, reader, Probe::IfNeeded);
    if (!other || other->writeback || other->connection == DRM_MODE_DISCONNECTED)
      continue;
    if (old.path.empty() ? other->name == old.name : other->path == old.path)
      return std::move(*other);
  }
  return std::nullopt;
}

FormatSet Output::formats() const
{
  FormatSet all;
  for (const Plane &plane : planes)
    all = FormatSet::unite(all, plane.formats);
  return all;
}

std::string list_planes(const std::vector<Plane> &planes)
{
  std::string ids;
  for (const Plane &plane : planes)
    ids += (ids.empty() ? "" : ", ") + std::to_string(plane.id);
  return ids.empty() ? "none" : ids;
}

const Plane *Output::plane_of(PlaneType type) const
{
  const auto it = std::find_if(crtc_planes.begin(), crtc_planes.end(),
                               [type](const Plane &plane) { return plane.type == type; });
  return it == crtc_planes.end() ? nullptr : &*it;
}

const Connector *Resources::named_connector(const std::string &text) const
{
  const auto it = std::find_if(connectors.begin(), connectors.end(), [&text](const Connector &c) {
    return !c.writeback && (c.name == text || std::to_string(c.id) == text);
  });
  return it == connectors.end() ? nullptr : &*it;
}

Result<Resources> read_resources(Device &device, const std::string &wanted)
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
    std::optional<drmModeModeInfo> mode = lit_mode(device.fd(), *properties);
    resources.crtcs.push_back(
        Crtc{raw->crtcs[i], static_cast<unsigned>(i), std::move(*properties), mode});
  }
  for (int i = 0; i < raw->count_connectors; i++) {
    Result<Connector> connector =
        read_connector(device, raw->connectors[i], reader, Probe::IfNeeded, wanted);
    // a display behind a hub (MST) went with its connector since the list was read
    // (drm_connector_lookup())
    if (!connector && connector.error().sys_errno == ENOENT)
      continue;
    if (!connector)
      return connector.error();
    resources.connectors.push_back(std::move(*connector));
  }
  if (Result<void> planes = read_planes(device, reader, resources); !planes)
    return planes.error();
  return resources;
}

namespace {

// The CRTC that drives the connector at present, else a free one: the one that the fewest other
// displays wait for, such as those of the sinks that start next. nullptr if none is free.
const Crtc *find_crtc(const Resources &resources, const Connector &connector)
{
  const auto waits_for = [&](const Connector &other, const Crtc &crtc) {
    return other.id != connector.id && !other.writeback && !other.modes.empty() &&
           other.connection == DRM_MODE_CONNECTED && other.crtc() == 0 &&
           crtc.is_among(other.possible_crtcs);
  };
  const Crtc *best = nullptr;
  std::ptrdiff_t fewest = 0;
  for (const Crtc &crtc : resources.crtcs) {
    if (connector.crtc() == crtc.id)
      return &crtc;
    const auto lit = [&](const Connector &other) {
      return !other.writeback && other.crtc() == crtc.id;
    };
    if (!crtc.is_among(connector.possible_crtcs) ||
        std::any_of(resources.connectors.begin(), resources.connectors.end(), lit))
      continue;
    const auto waiting =
        std::count_if(resources.connectors.begin(), resources.connectors.end(),
                      [&](const Connector &other) { return waits_for(other, crtc); });
    if (!best || waiting < fewest) {
      best = &crtc;
      fewest = waiting;
    }
  }
  return best;
}

// The kernel gives a connector whose state its driver cannot tell the modes of displays without an
// EDID (drm_probe_helper.c, drm_helper_probe_single_connector_modes()), so one without any was
// never probed, which the kernel does for masters alone.
Error no_modes(const Resources &resources, const Connector &connector,
               const std::string &device_name)
{
  const std::string which =
      "Connector " + connector.name + " of " + device_name + " has no modes: ";
  if (connector.connection == DRM_MODE_UNKNOWNCONNECTION)
    return device_error(which +
                            "nobody has looked for a display there yet, and the kernel looks "
                            "for the program that is master alone. Start that program first, or "
                            "as root write detect to /sys/class/drm/CARD-" +
                            connector.name + "/status.",
                        ENODEV);
  return device_error(
      which + "no display is connected to it. Connectors: " + list_connectors(resources) + ".",
      ENODEV);
}

Error no_crtc(const Connector &connector, const std::string &device_name)
{
  if (connector.possible_crtcs == 0)
    return device_error("Connector " + connector.name + " of " + device_name +
                            " has no CRTC that can drive it. Choose another connector.",
                        ENODEV);
  return device_error("No CRTC of " + device_name + " is free for connector " + connector.name +
                          ". Turn another output off, or choose another connector.",
                      EBUSY);
}

} // namespace

Result<Output> choose_output(const Resources &resources, const OutputRequest &request,
                             const std::string &device_name)
{
  const Connector *connector = request.connector.empty()
                                   ? best_connector(resources)
                                   : resources.named_connector(request.connector);
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
    return no_modes(resources, *connector, device_name);
  const Crtc *crtc = find_crtc(resources, *connector);
  if (!crtc)
    return no_crtc(*connector, device_name);

  Output output;
  output.connector = *connector;
  output.crtc = *crtc;
  output.crtc_planes = planes_of(resources, *crtc);
  output.mode_request = request.mode;
  // who lets the mode change with each picture wants modes that fit pictures
  if (request.mode.kind == ModeRequest::Kind::Auto && request.mode_changes == ModeChanges::Always)
    output.mode_request.kind = ModeRequest::Kind::Match;
  output.mode_changes = request.mode_changes;
  output.vrr = request.vrr;
  output.tearing = request.tearing;
  output.plane_named = request.plane_id != 0;
  for (const Plane &plane : output.crtc_planes)
    if (request.plane_id ? plane.id == request.plane_id : is_candidate(plane, *crtc))
      output.planes.push_back(plane);
  if (output.planes.empty())
    return device_error("Plane " + std::to_string(request.plane_id) + " of " + device_name +
                            " cannot show a picture on connector " + connector->name +
                            ". Its planes: " + list_planes(output.crtc_planes) +
                            ". Choose one of these with plane-id.",
                        EINVAL);
  for (const Connector &candidate : resources.connectors)
    if (candidate.writeback && crtc->is_among(candidate.possible_crtcs) && !output.writeback)
      output.writeback = candidate;
  return output;
}

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t kBlock = 128; // bytes; of the base and of each extension
constexpr std::uint8_t kCtaTag = 0x02, kDisplayIdTag = 0x70; // of extensions

// The bytes of a block add up to 0 (E-EDID 3.1).
bool adds_up(Bytes block)
{
  std::uint8_t sum = 0;
  for (const std::uint8_t byte : block)
    sum = static_cast<std::uint8_t>(sum + byte);
  return sum == 0;
}

// CTA-861-G 7.5, table 56: data blocks of one byte with tag and length, and as many bytes of
// payload; tag 7 has a second tag in the first of them.
void read_data_blocks(Bytes blocks, DisplayColour &colour)
{
  constexpr std::uint8_t kExtended = 7, kColorimetry = 5, kStaticMetadata = 6;
  while (!blocks.empty()) {
    const std::size_t length = blocks[0] & 0x1f;
    if (length >= blocks.size())
      return; // cut off
    const Bytes payload = blocks.subspan(1, length);
    const bool extended = blocks[0] >> 5 == kExtended && length >= 2;
    if (extended && payload[0] == kColorimetry)
      colour.bt2020_rgb |= (payload[1] & 0x80) != 0;
    // the transfer functions, and the types of metadata, of which bit 0 is type 1
    if (extended && payload[0] == kStaticMetadata && length >= 3 && (payload[2] & 1) != 0)
      colour.transfers |= payload[1] & 0x3f;
    blocks = blocks.subspan(1 + length);
  }
}

// Data blocks end where the detailed timings begin; 0 if there are neither (CTA-861-G table 52).
void read_cta(Bytes block, DisplayColour &colour)
{
  constexpr std::size_t kFirst = 4;
  const std::size_t end = block[2];
  if (block[1] >= 3 && end > kFirst && end < kBlock)
    read_data_blocks(block.subspan(kFirst, end - kFirst), colour);
}

// A DisplayID section (2.0, 2.1): four bytes with the number of bytes in the second, and data
// blocks of a tag, a revision and a length. One of them holds data blocks of CTA-861 (0x81; of
// DisplayID 1.3 likewise).
void read_display_id(Bytes block, DisplayColour &colour)
{
  constexpr std::uint8_t kCtaBlocks = 0x81;
  constexpr std::size_t kHeader = 3;
  const Bytes section = block.subspan(1);
  Bytes blocks = section.subspan(4, std::min<std::size_t>(section[1], section.size() - 5));
  while (blocks.size() > kHeader) {
    const std::size_t length = blocks[2];
    if (length > blocks.size() - kHeader)
      return; // cut off
    if (blocks[0] == kCtaBlocks)
      read_data_blocks(blocks.subspan(kHeader, length), colour);
    blocks = blocks.subspan(kHeader + length);
  }
}

} // namespace

DisplayColour read_display_colour(Bytes edid)
{
  constexpr std::array<std::uint8_t, 8> kHeader = {0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0};
  DisplayColour colour;
  if (edid.size() < kBlock || !std::equal(kHeader.begin(), kHeader.end(), edid.begin()))
    return colour;
  for (std::size_t at = kBlock; at + kBlock <= edid.size(); at += kBlock) {
    const Bytes block = edid.subspan(at, kBlock);
    if (!adds_up(block))
      continue;
    if (block[0] == kCtaTag)
      read_cta(block, colour);
    else if (block[0] == kDisplayIdTag)
      read_display_id(block, colour);
  }
  return colour;
}

} // namespace gstdrm::kms
