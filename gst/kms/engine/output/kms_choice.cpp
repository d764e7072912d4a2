// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_choice.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <functional>
#include <utility>

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

bool is_named(const Connector &connector, const std::string &name)
{
  return connector.name == name || std::to_string(connector.id) == name;
}

// Error where another sink has what the request asks for by name.
Result<void> check_request(const Resources &all, const OutputRequest &request,
                           const ReservationTable &taken, const std::string &device_name)
{
  bool connected = false;
  for (const Connector &connector : all.connectors) {
    const bool in_use = taken.contains(connector.id);
    if (in_use && !request.connector.empty() && is_named(connector, request.connector))
      return device_error("Connector " + connector.name + " of " + device_name +
                              " is used by another sink of this process. Choose another with "
                              "connector, or stop that sink.",
                          EBUSY);
    connected |= !in_use && !connector.writeback && !connector.modes.empty() &&
                 connector.connection != DRM_MODE_DISCONNECTED;
  }
  if (request.plane_id != 0 && taken.contains(request.plane_id))
    return device_error(
        "Plane " + std::to_string(request.plane_id) + " of " + device_name +
            " is used by another sink of this process. Choose another with plane-id, "
            "or stop that sink.",
        EBUSY);
  const auto in_use =
      std::find_if(all.connectors.begin(), all.connectors.end(), [&](const Connector &connector) {
        return !connector.writeback && taken.contains(connector.id);
      });
  if (request.connector.empty() && !connected && in_use != all.connectors.end())
    return device_error("Every connected output of " + device_name +
                            " is used by another sink of this process. Plug another display in, or "
                            "stop one of the sinks.",
                        EBUSY);
  return {};
}

// A plane that several CRTCs could use belongs to the sink that reserves it first. Each output
// needs one primary plane and gets no more. Where the user named the plane, the other planes stay
// free.
void keep_own_planes(Output &output, const OutputRequest &request)
{
  bool has_primary =
      std::any_of(output.crtc_planes.begin(), output.crtc_planes.end(), [](const Plane &plane) {
        return plane.type == PlaneType::Primary && std::has_single_bit(plane.possible_crtcs);
      });
  const auto leave = [&](const Plane &plane) {
    const std::uint64_t user = property_value(plane.properties, "CRTC_ID");
    if (std::has_single_bit(plane.possible_crtcs) || user == output.crtc.id ||
        plane.id == request.plane_id)
      return false;
    if (user != 0)
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

} // namespace

Result<OutputChoice> reserve_output(Device &device, const OutputRequest &request)
{
  ReservationTable &table = device.reservations();
  const std::lock_guard choice(table.choice_lock());
  Result<Resources> resources = read_resources(device);
  if (!resources)
    return resources.error();
  if (Result<void> free = check_request(*resources, request, table, device.name()); !free)
    return free.error();
  leave_out(*resources, [&](std::uint32_t id) { return !table.contains(id); });
  Result<Output> output = choose_output(*resources, request, device.name());
  if (!output)
    return output.error();
  keep_own_planes(*output, request);
  if (output->planes.empty())
    return device_error("No plane of " + device.name() + " is left for connector " +
                            output->connector.name + ": other sinks of this process use them.",
                        EBUSY);
  GSTDRM_DEBUG("chose connector %s (%u) of %s with CRTC %u, %zu planes for the picture%s",
               output->connector.name.c_str(), output->connector.id, device.name().c_str(),
               output->crtc.id, output->planes.size(),
               output->writeback ? " and a writeback connector" : "");
  Reservation reservation(table, ids_of(*output));
  return OutputChoice{std::move(*output), std::move(*resources), std::move(reservation)};
}

Result<OutputChoice> read_output_again(const Device &device, const Reservation &reservation,
                                       const OutputRequest &request)
{
  Result<Resources> resources = read_resources(device);
  if (!resources)
    return resources.error();
  leave_out(*resources, [&](std::uint32_t id) { return reservation.owns(id); });
  Result<Output> output = choose_output(*resources, request, device.name());
  if (!output)
    return output.error();
  return OutputChoice{std::move(*output), std::move(*resources), {}};
}

} // namespace gstdrm::kms
