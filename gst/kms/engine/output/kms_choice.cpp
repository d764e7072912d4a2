// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_choice.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include <xf86drm.h>

#include <gst/drm/core/log.hpp>

#include "engine/card/kms_objects.hpp"

namespace gstdrm::kms {

namespace {

using IsFree = std::function<bool(std::uint32_t id)>;

void leave_out(Resources &resources, const IsFree &is_free)
{
  const auto taken = [&](const auto &object) { return !is_free(object.id); };
  std::erase_if(resources.crtcs, taken);
  std::erase_if(resources.planes, taken);
  // a writeback connector goes with whichever CRTC it serves
  std::erase_if(resources.connectors, taken);
}

// A plane that several CRTCs could use belongs to the sink that chooses it first. Each output
// needs one primary plane and gets no more. Where the user named the plane, the other planes stay
// free.
void keep_own_planes(Output &output, const OutputRequest &request)
{
  bool has_primary =
      std::any_of(output.crtc_planes.begin(), output.crtc_planes.end(), [](const Plane &plane) {
        return plane.type == PlaneType::Primary && std::has_single_bit(plane.possible_crtcs);
      });
  const auto leave = [&](const Plane &plane) {
    if (plane.id == request.plane_id)
      return false;
    // beside the plane that the user named, a sink with mode=current may have one that is unused
    if (request.plane_id != 0 && plane.type == PlaneType::Overlay && plane.user() == 0)
      return true;
    if (std::has_single_bit(plane.possible_crtcs) || plane.user() == output.crtc.id)
      return false;
    if (plane.user() != 0)
      return true;
    if (plane.type == PlaneType::Primary)
      return std::exchange(has_primary, true);
    return request.plane_id != 0;
  };
  std::erase_if(output.crtc_planes, leave);
  std::erase_if(output.planes, [&](const Plane &plane) {
    return std::none_of(output.crtc_planes.begin(), output.crtc_planes.end(),
                        [&](const Plane &own) { return own.id == plane.id; });
  });
}

std::vector<std::uint32_t> ids_of(const Output &output)
{
  std::vector<std::uint32_t> ids{output.connector.id, output.crtc.id};
  for (const Plane &plane : output.crtc_planes)
    ids.push_back(plane.id);
  if (output.writeback)
    ids.push_back(output.writeback->id);
  return ids;
}

// The mode on the display. nullopt if the display is dark.
std::optional<drmModeModeInfo> read_found_mode(const Device &device, const Output &output)
{
  if (output.connector.crtc() != output.crtc.id)
    return std::nullopt;
  return lit_mode(device.fd(), output.crtc.properties);
}

// DRM_CAP_ATOMIC_ASYNC_PAGE_FLIP, which libdrm 2.4.114 does not know (drm.h, Linux 6.8).
constexpr std::uint64_t kCapAtomicAsyncFlips = 0x15;

Result<void> check_timing(const Device &device, const Output &output)
{
  const Connector &connector = output.connector;
  const std::string where = " on connector " + connector.name + " of " + device.name() + ": ";
  if (output.vrr && property_value(connector.properties, "vrr_capable") == 0)
    return device_error("vrr=true cannot be used" + where +
                            "its display, or the driver, has no variable refresh (vrr_capable). "
                            "Leave vrr out, or choose another connector.",
                        ENOTSUP);
  if (output.vrr && !find(output.crtc.properties, "VRR_ENABLED"))
    return device_error("vrr=true cannot be used" + where + "CRTC " +
                            std::to_string(output.crtc.id) + " has no VRR_ENABLED. Leave vrr out.",
                        ENOTSUP);
  std::uint64_t flips = 0;
  if (output.tearing && (drmGetCap(device.fd(), kCapAtomicAsyncFlips, &flips) != 0 || flips == 0))
    return device_error("tearing=true cannot be used" + where +
                            "the driver makes no asynchronous atomic flips "
                            "(DRM_CAP_ATOMIC_ASYNC_PAGE_FLIP; Linux 6.8). Leave tearing out.",
                        ENOTSUP);
  // flips_by_fence(), and of an asynchronous flip the kernel gives no fence (drm_atomic_uapi.c)
  if (output.tearing && device.file_is_lent() && find(output.crtc.properties, "OUT_FENCE_PTR"))
    return device_error(
        "tearing=true cannot be used" + where +
            "flips on a descriptor of the application are told of by fences, and an "
            "asynchronous one has none. Leave tearing out, or give device in place "
            "of fd.",
        ENOTSUP);
  return {};
}

void list_implicit(Plane &plane)
{
  std::vector<Format> pairs(plane.formats.pairs().begin(), plane.formats.pairs().end());
  for (const Format &pair : plane.formats.pairs())
    pairs.push_back({pair.fourcc, kModImplicit});
  plane.formats = FormatSet::from_pairs(std::move(pairs));
}

// Puts the application's settings of modifiers and KMS properties into the output. A plane that
// cannot have the properties is no candidate. Error: no plane can have them, or the connector
// cannot.
Result<void> apply_user_settings(Output &output, const OutputRequest &request)
{
  if (request.implicit_modifiers)
    for (Plane &plane : output.planes)
      list_implicit(plane);
  Connector &connector = output.connector;
  auto settings = check_user_properties(request.connector_properties, PropertyTarget::Connector,
                                        connector.properties, "connector " + connector.name);
  if (!settings)
    return settings.error();
  connector.settings = std::move(*settings);
  std::optional<Error> error;
  std::vector<Plane> able;
  for (Plane &plane : output.planes) {
    settings = check_user_properties(request.plane_properties, PropertyTarget::Plane,
                                     plane.properties, "plane " + std::to_string(plane.id));
    if (settings) {
      plane.settings = std::move(*settings);
      able.push_back(plane);
    } else if (!error) {
      error = settings.error();
    }
  }
  if (able.empty() && error)
    return *error;
  output.planes = std::move(able);
  return {};
}

// On an output that another program has lit, all but the plane is that program's to set.
Result<void> apply_joined_user_settings(Output &output, const OutputRequest &request)
{
  const auto refuse = [&](const char *what, const char *why) {
    return device_error(std::string(what) + " cannot be used on connector " +
                            output.connector.name + ", where another program shows its picture: " +
                            why + ". Leave it out, or take the display with mode=match.",
                        ENOTSUP);
  };
  if (!request.connector_properties.empty())
    return refuse("connector-properties", "the connector is that program's");
  if (request.vrr)
    return refuse("vrr=true", "the time of a refresh is that program's");
  if (request.tearing)
    return refuse("tearing=true",
                  "flips are told of by fences there, and an asynchronous one has none");
  return apply_user_settings(output, request);
}

// With a plane that can have the properties that the application wants, if there is one: a plane
// that no sink of this process has chosen, else one that becomes dark when such a sink stops.
Result<Output> find_joined_output(const Device &device, const ReservationTable &table,
                                  const Resources &resources, const OutputRequest &request)
{
  const UsablePlane unused = [&](const Plane &plane) {
    return plane.user() == 0 && !table.contains(plane.id);
  };
  const UsablePlane waited_for = [&](const Plane &plane) {
    return plane.user() == 0 || table.is_taken(plane.id);
  };
  Result<Output> output = Error{};
  for (const UsablePlane *is_usable : {&unused, &waited_for}) {
    const auto is_able = [&](const Plane &plane) {
      return (*is_usable)(plane) &&
             check_user_properties(request.plane_properties, PropertyTarget::Plane,
                                   plane.properties, "plane");
    };
    output = join_output(resources, request, is_able, device.name());
    if (!output) // the error is about the properties, where there is a plane without them
      output = join_output(resources, request, *is_usable, device.name());
    if (output)
      break;
  }
  return output;
}

// Beside what another program shows: only the plane is reserved, so that any number of sinks join.
OutputChoice reserve_plane(const Device &device, ReservationTable &table, Resources resources,
                           Output output)
{
  const std::uint32_t plane = output.planes.front().id;
  GSTDRM_DEBUG("joins CRTC %u of connector %s of %s in mode %s, on plane %u", output.crtc.id,
               output.connector.name.c_str(), device.name().c_str(),
               describe_mode(*output.joined).c_str(), plane);
  const bool is_shared = table.contains(plane);
  return OutputChoice{std::move(output), std::move(resources), Reservation(table, {plane}),
                      is_shared};
}

Result<void> check_meaning(const OutputRequest &output)
{
  if (output.mode_changes != ModeChanges::Never || !names_mode(output.mode))
    return {};
  return device_error("mode names a mode to set, and mode-changes=never forbids to set one. Leave "
                      "one of the two out.",
                      EINVAL);
}

// An output that the sink sets the mode of, with what the application wants of it.
Result<Output> choose_own_output(Device &device, const Resources &resources,
                                 const OutputRequest &request)
{
  Result<Output> output = choose_output(resources, request, device.name());
  if (!output)
    return output;
  keep_own_planes(*output, request);
  if (Result<void> timing = check_timing(device, *output); !timing)
    return timing.error();
  if (Result<void> taken = apply_user_settings(*output, request); !taken)
    return taken.error();
  if (output->planes.empty())
    return device_error("No plane of " + device.name() + " is left for connector " +
                            output->connector.name + ": other CRTCs use them.",
                        EBUSY);
  return output;
}

} // namespace

Result<OutputChoice> reserve_output(Device &device, const OutputRequest &request)
{
  if (Result<void> meant = check_meaning(request); !meant)
    return meant.error();
  ReservationTable &table = device.reservations();
  const std::lock_guard choice(table.choice_lock());
  Result<Resources> resources = read_resources(device, request.connector);
  if (!resources)
    return resources.error();
  if (wants_join(request)) {
    Result<Output> joined = find_joined_output(device, table, *resources, request);
    if (joined) {
      if (Result<void> taken = apply_joined_user_settings(*joined, request); !taken)
        return taken.error();
      return reserve_plane(device, table, std::move(*resources), std::move(*joined));
    }
    if (request.mode.kind == ModeRequest::Kind::Current)
      return joined.error();
    GSTDRM_DEBUG("not joined: %s", joined.error().message.c_str());
  }
  if (device.file_is_lent()) { // for snapshots
    device.list_writeback_connectors();
    resources = read_resources(device, request.connector);
    if (!resources)
      return resources.error();
  }
  // what no sink has chosen, then what none shows on, then anything
  const IsFree stages[] = {[&](std::uint32_t id) { return !table.contains(id); },
                           [&](std::uint32_t id) { return !table.is_taken(id); },
                           [](std::uint32_t) { return true; }};
  Result<Output> output = Error{};
  for (const IsFree &is_free : stages) {
    Resources rest = *resources;
    leave_out(rest, is_free);
    output = choose_own_output(device, rest, request);
    // a connector whose state nobody knows comes after a display that another sink may leave
    if (output &&
        (!request.connector.empty() || output->connector.connection == DRM_MODE_CONNECTED))
      break;
  }
  if (!output)
    return output.error();
  output->found_mode = read_found_mode(device, *output);
  GSTDRM_DEBUG("chose connector %s (%u) of %s with CRTC %u, %zu planes for the picture%s",
               output->connector.name.c_str(), output->connector.id, device.name().c_str(),
               output->crtc.id, output->planes.size(),
               output->writeback ? " and a writeback connector" : "");
  const std::vector<std::uint32_t> ids = ids_of(*output);
  const bool is_shared =
      std::any_of(ids.begin(), ids.end(), [&](std::uint32_t id) { return table.contains(id); });
  return OutputChoice{std::move(*output), std::move(*resources), Reservation(table, ids),
                      is_shared};
}

Result<void> take_output(const Device &device, Reservation &reservation, const Output &output)
{
  const std::uint32_t other = reservation.take();
  if (other == 0)
    return {};
  const std::string what = other == output.connector.id ? "Connector " + output.connector.name
                           : other == output.crtc.id    ? "CRTC " + std::to_string(other)
                                                        : "Plane " + std::to_string(other);
  return device_error(what + " of " + device.name() +
                          " shows the picture of another sink of this process. Stop that sink "
                          "first, or choose another connector.",
                      EBUSY);
}

Result<Output> read_output_again(Device &device, const Reservation &reservation,
                                 const OutputRequest &request)
{
  Result<Resources> resources = read_resources(device, request.connector);
  if (!resources)
    return resources.error();
  const auto owns = [&](std::uint32_t id) { return reservation.owns(id); };
  if (request.mode.kind == ModeRequest::Kind::Current) {
    const UsablePlane is_own = [&](const Plane &plane) {
      return owns(plane.id) && plane.user() == 0;
    };
    Result<Output> joined = join_output(*resources, request, is_own, device.name());
    if (!joined)
      return joined;
    if (Result<void> taken = apply_joined_user_settings(*joined, request); !taken)
      GSTDRM_DEBUG("%s", taken.error().message.c_str());
    return joined;
  }
  leave_out(*resources, owns);
  Result<Output> output = choose_output(*resources, request, device.name());
  if (!output)
    return output;
  // another display may do less, and is shown on all the same
  output->vrr = output->vrr && check_timing(device, *output);
  if (Result<void> taken = apply_user_settings(*output, request); !taken)
    GSTDRM_DEBUG("%s", taken.error().message.c_str());
  return output;
}

namespace {

const Crtc *lit_crtc(const Resources &resources, const Connector &connector)
{
  for (const Crtc &crtc : resources.crtcs)
    if (crtc.id == connector.crtc() && crtc.mode)
      return &crtc;
  return nullptr;
}

const Plane *named_plane(const Resources &resources, std::uint32_t id)
{
  const auto it = std::find_if(resources.planes.begin(), resources.planes.end(),
                               [id](const Plane &plane) { return plane.id == id; });
  return it == resources.planes.end() ? nullptr : &*it;
}

// The first that is lit by a CRTC that takes the plane that the request names.
const Connector *lit_connector(const Resources &resources, const OutputRequest &request)
{
  const Plane *plane = named_plane(resources, request.plane_id);
  const auto it = std::find_if(
      resources.connectors.begin(), resources.connectors.end(), [&](const Connector &connector) {
        const Crtc *crtc = connector.writeback ? nullptr : lit_crtc(resources, connector);
        return crtc && (!plane || crtc->is_among(plane->possible_crtcs));
      });
  return it == resources.connectors.end() ? nullptr : &*it;
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
    if (plane.type != PlaneType::Cursor && crtc.is_among(plane.possible_crtcs) &&
        is_usable(plane) && (!best || better(plane)))
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
  if (!crtc.is_among(plane->possible_crtcs))
    return "it does not belong to CRTC " + std::to_string(crtc.id);
  const std::uint64_t user = plane->user();
  if (user != 0 && user != crtc.id)
    return "it is used by CRTC " + std::to_string(user);
  return {};
}

} // namespace

bool wants_join(const OutputRequest &request)
{
  return request.mode.kind == ModeRequest::Kind::Current ||
         (request.mode.kind == ModeRequest::Kind::Auto && request.may_join);
}

Result<Output> join_output(const Resources &resources, const OutputRequest &request,
                           const UsablePlane &is_usable, const std::string &device_name)
{
  const Connector *connector = request.connector.empty()
                                   ? lit_connector(resources, request)
                                   : resources.named_connector(request.connector); // lit or not
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
