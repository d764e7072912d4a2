// SPDX-License-Identifier: LGPL-2.1-or-later
// The fake libdrm: what there is to read of the device and its objects. Their properties are in
// fake_drm_properties.cpp.
#include "fake_drm_internal.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <drm_fourcc.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

using namespace gstdrm::test;
using namespace gstdrm::test::fakedrm;

namespace {

std::uint32_t *copy_ids(const std::vector<std::uint32_t> &ids)
{
  auto *copy = static_cast<std::uint32_t *>(std::calloc(std::max<std::size_t>(ids.size(), 1), sizeof(std::uint32_t)));
  std::copy(ids.begin(), ids.end(), copy);
  return copy;
}

} // namespace

drmVersionPtr drmGetVersion(int)
{
  const Guard guard(device().lock);
  if (fails("drmGetVersion"))
    return nullptr;
  auto *version = allocate<drmVersion>(device().versions);
  const std::string name = device().model ? device().model->driver : "fake";
  version->name = strdup(name.c_str());
  version->name_len = static_cast<int>(name.size());
  return version;
}

void drmFreeVersion(drmVersionPtr version)
{
  if (!version)
    return;
  const Guard guard(device().lock);
  release(device().versions, version->name, version);
}

drmModeResPtr drmModeGetResources(int)
{
  const Guard guard(device().lock);
  if (fails("drmModeGetResources"))
    return nullptr;
  auto *res = allocate<drmModeRes>(device().resources);
  const int outputs = device().second_output ? 2 : 1;
  res->count_crtcs = outputs;
  res->crtcs = copy_ids({kCrtc, kOtherCrtc});
  res->count_connectors = device().model && device().model->writeback.empty() ? 1 : 1 + outputs;
  res->connectors = copy_ids({device().hub_is_new ? kOtherConnector : kConnector, kWriteback, kOtherConnector});
  res->min_width = res->min_height = 10;
  res->max_width = res->max_height = 8192;
  return res;
}

void drmModeFreeResources(drmModeResPtr res)
{
  if (!res)
    return;
  const Guard guard(device().lock);
  release(device().resources, res->crtcs, res->connectors, res);
}

drmModePlaneResPtr drmModeGetPlaneResources(int)
{
  const Guard guard(device().lock);
  if (fails("drmModeGetPlaneResources"))
    return nullptr;
  auto *res = allocate<drmModePlaneRes>(device().resources);
  std::vector<std::uint32_t> ids = {kOverlay, kPrimary};
  if (device().second_output)
    ids.push_back(kOtherPrimary);
  if (device().model)
    ids = device().model->plane_ids();
  res->count_planes = static_cast<std::uint32_t>(ids.size());
  res->planes = copy_ids(ids);
  return res;
}

void drmModeFreePlaneResources(drmModePlaneResPtr res)
{
  if (!res)
    return;
  const Guard guard(device().lock);
  release(device().resources, res->planes, res);
}

drmModePlanePtr drmModeGetPlane(int, std::uint32_t id)
{
  const Guard guard(device().lock);
  if (fails("drmModeGetPlane"))
    return nullptr;
  auto *plane = allocate<drmModePlane>(device().resources);
  plane->plane_id = id;
  plane->possible_crtcs = id == kOtherPrimary && !device().model ? 2 : 1;
  if (const auto found = device().found.find({id, "CRTC_ID"}); found != device().found.end())
    plane->crtc_id = static_cast<std::uint32_t>(found->second);
  std::vector<std::uint32_t> formats = {DRM_FORMAT_XRGB8888, DRM_FORMAT_NV12};
  if (device().model)
    formats = device().model->plane(id)->fourccs();
  plane->count_formats = static_cast<std::uint32_t>(formats.size());
  plane->formats = copy_ids(formats);
  return plane;
}

void drmModeFreePlane(drmModePlanePtr plane)
{
  if (!plane)
    return;
  const Guard guard(device().lock);
  release(device().resources, plane->formats, plane);
}

namespace {

drmModeConnectorPtr read_connector(std::uint32_t id, bool connected, unsigned speed)
{
  auto *connector = allocate<drmModeConnector>(device().resources);
  connector->connector_id = id;
  connector->connector_type = id == kWriteback ? DRM_MODE_CONNECTOR_WRITEBACK : DRM_MODE_CONNECTOR_VIRTUAL;
  connector->connector_type_id = id == kOtherConnector && !device().hub_is_new ? 2 : 1;
  connector->connection = connected ? DRM_MODE_CONNECTED : DRM_MODE_DISCONNECTED;
  connector->count_encoders = 1;
  connector->encoders = copy_ids({id == kOtherConnector && !device().hub_is_new ? kOtherEncoder : kEncoder});
  if (id != kWriteback && connected) {
    connector->count_modes = device().slow_mode ? 3 : 2;
    connector->modes = static_cast<drmModeModeInfo *>(std::calloc(3, sizeof(drmModeModeInfo)));
    connector->modes[0] = {65000, 1024, 1048, 1184, 1344, 0, 768, 771, 777, 806, 0, 60, 0, DRM_MODE_TYPE_PREFERRED, "a"};
    connector->modes[1] = {25175, 640, 656, 752, 800, 0, 480, 490, 492, 525, 0, 60, 0, 0, "b"};
    connector->modes[2] = {10080, 640, 656, 752, 800, 0, 480, 490, 492, 525, 0, 24, 0, 0, "c"};
    for (int i = 0; i < connector->count_modes; i++)
      connector->modes[i].clock *= speed;
  }
  return connector;
}

} // namespace

drmModeConnectorPtr drmModeGetConnector(int, std::uint32_t id)
{
  const Guard guard(device().lock);
  if (fails("drmModeGetConnector"))
    return nullptr;
  Device &d = device();
  d.probes++;
  if ((d.hub_is_new && id == kConnector) || id == d.gone_connector) {
    errno = ENOENT;
    return nullptr;
  }
  if (d.master) { // else the answer is what is known (drm_connector.c, Linux 5.14)
    d.known_connected = d.connected;
    d.known_speed = d.speed;
  }
  return read_connector(id, d.known_connected, d.known_speed);
}

drmModeConnectorPtr drmModeGetConnectorCurrent(int, std::uint32_t id)
{
  const Guard guard(device().lock);
  if ((device().hub_is_new && id == kConnector) || id == device().gone_connector) {
    errno = ENOENT;
    return nullptr;
  }
  return fails("drmModeGetConnectorCurrent") ? nullptr : read_connector(id, device().connected, device().speed);
}

void drmModeFreeConnector(drmModeConnectorPtr connector)
{
  if (!connector)
    return;
  const Guard guard(device().lock);
  release(device().resources, connector->encoders, connector->modes, connector);
}

drmModeEncoderPtr drmModeGetEncoder(int, std::uint32_t id)
{
  const Guard guard(device().lock);
  if (fails("drmModeGetEncoder"))
    return nullptr;
  auto *encoder = allocate<drmModeEncoder>(device().resources);
  encoder->encoder_id = id;
  encoder->possible_crtcs = id == kOtherEncoder ? 3 : 1;
  return encoder;
}

void drmModeFreeEncoder(drmModeEncoderPtr encoder)
{
  if (!encoder)
    return;
  const Guard guard(device().lock);
  release(device().resources, encoder);
}

const char *drmModeGetConnectorTypeName(std::uint32_t type)
{
  return type == DRM_MODE_CONNECTOR_WRITEBACK ? "Writeback" : "Virtual";
}

// --- leases: this device has one owner only

int drmModeCreateLease(int, const std::uint32_t *, int, int, std::uint32_t *)
{
  return -EOPNOTSUPP;
}

drmModeLesseeListPtr drmModeListLessees(int)
{
  const Guard guard(device().lock);
  auto *list = static_cast<drmModeLesseeListPtr>(std::calloc(1, sizeof(drmModeLesseeListRes)));
  list->count = device().has_lessees ? 1 : 0;
  return list;
}

drmModeObjectListPtr drmModeGetLease(int)
{
  const Guard guard(device().lock);
  if (device().lease_revoked)
    return static_cast<drmModeObjectListPtr>(std::calloc(1, sizeof(drmModeObjectListRes)));
  errno = EOPNOTSUPP;
  return nullptr;
}

void drmFree(void *pointer)
{
  std::free(pointer);
}
