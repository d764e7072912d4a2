// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_moved_displays.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <utility>

#include <gst/drm/core/log.hpp>

#include "engine/card/kms_objects.hpp"
#include "engine/output/kms_choice.hpp"
#include "kms_request.hpp"
#include "kms_saved_state.hpp"

namespace gstdrm::kms {

namespace {

template <typename Object> const Object *with_id(const std::vector<Object> &list, std::uint32_t id)
{
  const auto it =
      std::find_if(list.begin(), list.end(), [id](const Object &object) { return object.id == id; });
  return it == list.end() ? nullptr : &*it;
}

bool lights(const Crtc &crtc, const Connector &connector)
{
  return property_value(connector.properties, "CRTC_ID") == crtc.id;
}

// Values that both objects have a property for, under the names. Blobs and framebuffers are the
// device's, so their ids hold on either.
void copy(Request &request, const PropertySet &from, std::uint32_t to_id, const PropertySet &to,
          std::span<const char *const> names)
{
  for (const char *name : names) {
    const Property *source = find(from, name);
    const Property *target = find(to, name);
    if (source && target && !(target->flags & DRM_MODE_PROP_IMMUTABLE))
      request.set(to_id, target->id, name, source->value);
  }
}

// A plane that nobody uses takes the place of `plane`: the kernel lets none change its CRTC while
// it is shown (drm_atomic.c, plane_switching_crtc()).
const Plane *find_stand_in(const Resources &free, const Plane &plane, const Crtc &to,
                           const std::vector<const Plane *> &taken)
{
  for (const Plane &other : free.planes)
    if (other.type == plane.type && (other.possible_crtcs >> to.index & 1) != 0 &&
        property_value(other.properties, "CRTC_ID") == 0 &&
        std::find(taken.begin(), taken.end(), &other) == taken.end())
      return &other;
  return nullptr;
}

// false: a plane of the picture has no counterpart on the other CRTC.
bool move_planes(Request &request, const Resources &free, const Crtc &from, const Crtc &to)
{
  std::vector<const Plane *> taken;
  for (const Plane &plane : free.planes) {
    if (property_value(plane.properties, "CRTC_ID") != from.id)
      continue;
    const Plane *other = find_stand_in(free, plane, to, taken);
    if (!other)
      return false;
    taken.push_back(other);
    copy(request, plane.properties, other->id, other->properties, plane_state_names());
    request.set(other->id, other->properties, "CRTC_ID", to.id);
    request.disable_plane(plane);
  }
  return true;
}

// Whether a sink that has joined the CRTC shows a part of the picture, or a lessee may.
bool is_shared(const Device &device, const Resources &free, std::uint32_t crtc_id)
{
  const std::unique_ptr<drmModeLesseeListRes, void (*)(void *)> lessees(
      drmModeListLessees(device.fd()), drmFree);
  const PlaneResPtr planes(drmModeGetPlaneResources(device.fd()));
  if (!planes || (lessees && lessees->count != 0))
    return true;
  return std::any_of(planes->planes, planes->planes + planes->count_planes, [&](std::uint32_t id) {
    if (with_id(free.planes, id))
      return false;
    const PlanePtr plane(drmModeGetPlane(device.fd(), id));
    return !plane || plane->crtc_id == crtc_id;
  });
}

int commit_move(const Device &device, const Resources &free, const CrtcMove &move)
{
  constexpr std::array kCrtcNames = {"MODE_ID",      "ACTIVE", "GAMMA_LUT",
                                     "DEGAMMA_LUT", "CTM",    "VRR_ENABLED"};
  const Connector *connector = with_id(free.connectors, move.connector);
  const Crtc *from = with_id(free.crtcs, move.from);
  const Crtc *to = with_id(free.crtcs, move.to);
  if (!connector || !from || !to || !lights(*from, *connector))
    return -ENOENT;
  Request request;
  copy(request, from->properties, to->id, to->properties, kCrtcNames);
  request.set(from->id, from->properties, "MODE_ID", 0);
  request.set(from->id, from->properties, "ACTIVE", 0);
  request.set(connector->id, connector->properties, "CRTC_ID", to->id);
  for (const Connector &writeback : free.connectors)
    if (writeback.writeback && lights(*from, writeback))
      request.set(writeback.id, writeback.properties, "CRTC_ID", 0);
  if (!move_planes(request, free, *from, *to))
    return -ENOSPC;
  return commit_request(device.fd(), request, DRM_MODE_ATOMIC_ALLOW_MODESET, 0);
}

} // namespace

bool MovedDisplays::move(const Resources &free, const CrtcMove &move)
{
  const int ret =
      is_shared(*device_, free, move.from) ? -EBUSY : commit_move(*device_, free, move);
  GSTDRM_DEBUG("moving connector %u from CRTC %u to CRTC %u of %s: %s", move.connector, move.from,
               move.to, device_->name().c_str(), ret == 0 ? "done" : errno_text(-ret).c_str());
  if (ret == 0)
    moves_.push_back(move);
  return ret == 0;
}

void MovedDisplays::put_back()
{
  const std::vector<CrtcMove> moves = std::exchange(moves_, {});
  if (moves.empty())
    return;
  const std::lock_guard choice(device_->reservations().choice_lock());
  for (auto it = moves.rbegin(); it != moves.rend(); ++it) {
    const Result<Resources> free = read_free_resources(*device_, "");
    const bool dark =
        free && std::none_of(free->connectors.begin(), free->connectors.end(),
                             [&](const Connector &connector) {
                               return property_value(connector.properties, "CRTC_ID") == it->from;
                             });
    const int ret = dark ? commit_move(*device_, *free, {it->connector, it->to, it->from}) : -EBUSY;
    GSTDRM_DEBUG("moving connector %u back to CRTC %u of %s: %s", it->connector, it->from,
                 device_->name().c_str(), ret == 0 ? "done" : errno_text(-ret).c_str());
  }
}

} // namespace gstdrm::kms
