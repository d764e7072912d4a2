// SPDX-License-Identifier: LGPL-2.1-or-later
// The fake libdrm: what there is to read of the device, its objects, their properties and blobs.
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

constexpr std::uint32_t kInFormatsBlob = 500;
constexpr std::uint32_t kWritebackBlob = 501;
constexpr std::uint32_t kOverlayInFormatsBlob = 502;
constexpr std::uint32_t kPathBlob = 503;

std::uint32_t *copy_ids(const std::vector<std::uint32_t> &ids)
{
  auto *copy = static_cast<std::uint32_t *>(std::calloc(std::max<std::size_t>(ids.size(), 1), sizeof(std::uint32_t)));
  std::copy(ids.begin(), ids.end(), copy);
  return copy;
}

} // namespace

const ObjectList &fakedrm::objects()
{
  if (device().model)
    return device().model->objects;
  static const std::vector<PropertySpec> plane = {
      {"type", DRM_MODE_PROP_ENUM, DRM_PLANE_TYPE_PRIMARY},
      {"FB_ID", 0, 0},
      {"CRTC_ID", 0, 0},
      {"SRC_X", 0, 0},
      {"SRC_Y", 0, 0},
      {"SRC_W", 0, 0},
      {"SRC_H", 0, 0},
      {"CRTC_X", 0, 0},
      {"CRTC_Y", 0, 0},
      {"CRTC_W", 0, 0},
      {"CRTC_H", 0, 0},
      {"IN_FENCE_FD", 0, 0},
      {"IN_FORMATS", DRM_MODE_PROP_BLOB, kInFormatsBlob},
      {"COLOR_ENCODING", DRM_MODE_PROP_ENUM, 0},
      {"COLOR_RANGE", DRM_MODE_PROP_ENUM, 0},
      {"rotation", DRM_MODE_PROP_BITMASK, DRM_MODE_ROTATE_0},
      {"pixel blend mode", DRM_MODE_PROP_ENUM, 1},
      {"alpha", 0, 0x8000},
      {"brightness", DRM_MODE_PROP_RANGE, 50},
      {"hue", DRM_MODE_PROP_SIGNED_RANGE, 0},
      {"zpos", DRM_MODE_PROP_RANGE, 0},
  };
  static const auto list = [] {
    std::vector<PropertySpec> overlay = plane;
    overlay[0].value = DRM_PLANE_TYPE_OVERLAY;
    overlay[12].value = kOverlayInFormatsBlob;
    const std::vector<PropertySpec> crtc = {{"ACTIVE", 0, 0},
                                            {"MODE_ID", DRM_MODE_PROP_BLOB, 0},
                                            {"GAMMA_LUT", DRM_MODE_PROP_BLOB, 0},
                                            {"DEGAMMA_LUT", DRM_MODE_PROP_BLOB, 0},
                                            {"CTM", DRM_MODE_PROP_BLOB, 0},
                                            {"VRR_ENABLED", DRM_MODE_PROP_RANGE, 0},
                                            {"brightness", DRM_MODE_PROP_RANGE, 60},
                                            {"contrast", DRM_MODE_PROP_RANGE, 70},
                                            {"OUT_FENCE_PTR", 0, 0}};
    const std::vector<PropertySpec> connector = {
        {"CRTC_ID", 0, 0},
        {"HDR_OUTPUT_METADATA", DRM_MODE_PROP_BLOB, 0},
        {"Colorspace", DRM_MODE_PROP_ENUM, 0},
        {"Broadcast RGB", DRM_MODE_PROP_ENUM, 0},
        {"vrr_capable", DRM_MODE_PROP_RANGE | DRM_MODE_PROP_IMMUTABLE, 0},
        {"max bpc", DRM_MODE_PROP_RANGE, 8},
        {"link-status", DRM_MODE_PROP_ENUM, DRM_MODE_LINK_STATUS_GOOD},
        {"EDID", DRM_MODE_PROP_BLOB | DRM_MODE_PROP_IMMUTABLE, 0},
        {"panel orientation", DRM_MODE_PROP_ENUM | DRM_MODE_PROP_IMMUTABLE, 0},
        {"PATH", DRM_MODE_PROP_BLOB | DRM_MODE_PROP_IMMUTABLE, 0}};
    return ObjectList{
        {kCrtc, crtc},
        {kConnector, connector},
        {kWriteback,
         {{"CRTC_ID", 0, 0},
          {"WRITEBACK_FB_ID", 0, 0},
          {"WRITEBACK_OUT_FENCE_PTR", 0, 0},
          {"WRITEBACK_PIXEL_FORMATS", DRM_MODE_PROP_BLOB, kWritebackBlob}}},
        {kPrimary, plane},
        {kOverlay, overlay},
        {kOtherCrtc, crtc},
        {kOtherConnector, connector},
        {kOtherPrimary, plane},
    };
  }();
  return list;
}

const PropertySpec *fakedrm::property(std::uint32_t id)
{
  const std::size_t object = id / 100 - 1, index = id % 100;
  if (id < 100 || object >= objects().size() || index >= objects()[object].second.size())
    return nullptr;
  return &objects()[object].second[index];
}

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
  if (d.hub_is_new && id == kConnector) {
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
  if (device().hub_is_new && id == kConnector) {
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

namespace {

// Properties that this device's driver has only where Device says so.
bool is_hidden(std::uint32_t object, const std::string &name)
{
  const Device &d = device();
  if (d.model)
    return name == "OUT_FENCE_PTR" && !d.out_fences;
  if (name == "brightness" || name == "contrast" || name == "hue")
    return object == kCrtc ? !d.crtc_balance : !d.plane_balance;
  return (name == "zpos" && !d.has_zpos) || (name == "OUT_FENCE_PTR" && !d.out_fences);
}

} // namespace

drmModeObjectPropertiesPtr drmModeObjectGetProperties(int, std::uint32_t id, std::uint32_t)
{
  const Guard guard(device().lock);
  if (fails("drmModeObjectGetProperties"))
    return nullptr;
  for (std::size_t o = 0; o < objects().size(); o++) {
    if (objects()[o].first != id || device().lease_revoked)
      continue;
    const auto &specs = objects()[o].second;
    auto *list = allocate<drmModeObjectProperties>(device().resources);
    list->props = static_cast<std::uint32_t *>(std::calloc(specs.size(), sizeof(std::uint32_t)));
    list->prop_values = static_cast<std::uint64_t *>(std::calloc(specs.size(), sizeof(std::uint64_t)));
    for (std::size_t i = 0; i < specs.size(); i++) {
      if (is_hidden(id, specs[i].name))
        continue;
      const std::uint32_t at = list->count_props++;
      list->props[at] = static_cast<std::uint32_t>((o + 1) * 100 + i);
      list->prop_values[at] = specs[i].name == "PATH" && !device().path.empty() ? kPathBlob : specs[i].value;
      if (device().plane_users.count(id) && specs[i].name == "CRTC_ID")
        list->prop_values[at] = device().plane_users.at(id);
      if (const auto found = device().found.find({id, specs[i].name}); found != device().found.end())
        list->prop_values[at] = found->second;
    }
    return list;
  }
  errno = ENOENT;
  return nullptr;
}

void drmModeFreeObjectProperties(drmModeObjectPropertiesPtr list)
{
  if (!list)
    return;
  const Guard guard(device().lock);
  release(device().resources, list->props, list->prop_values, list);
}

namespace {

// Names of drm_connector.c and drm_color_mgmt.c.
std::vector<EnumValue> enum_values(const std::string &property)
{
  if (property == "Colorspace")
    return {{"Default", 0}, {"BT2020_RGB", kBt2020Rgb}};
  if (property == "Broadcast RGB")
    return {{"Automatic", 0}, {"Limited 16:235", 2}};
  if (property == "rotation") {
    std::vector<EnumValue> values;
    for (const auto &[name, bit] : device().rotations)
      values.push_back({name, bit});
    return values;
  }
  if (property == "link-status")
    return {{"Good", DRM_MODE_LINK_STATUS_GOOD}, {"Bad", DRM_MODE_LINK_STATUS_BAD}};
  if (property == "panel orientation")
    return {{"Normal", 0}, {"Upside Down", 1}, {"Left Side Up", 2}, {"Right Side Up", 3}};
  if (property == "COLOR_ENCODING")
    return {{"ITU-R BT.601 YCbCr", kBt601}, {"ITU-R BT.709 YCbCr", kBt709}, {"ITU-R BT.2020 YCbCr", kBt2020}};
  if (property == "pixel blend mode")
    return device().blends_straight
               ? std::vector<EnumValue>{{"None", 2}, {"Pre-multiplied", 0}, {"Coverage", 1}}
               : std::vector<EnumValue>{{"None", 2}, {"Pre-multiplied", 0}};
  if (property == "COLOR_RANGE")
    return {{"YCbCr limited range", kLimitedRange}, {"YCbCr full range", kFullRange}};
  return {};
}

} // namespace

drmModePropertyPtr drmModeGetProperty(int, std::uint32_t id)
{
  const Guard guard(device().lock);
  if (fails("drmModeGetProperty"))
    return nullptr;
  const PropertySpec *spec = property(id);
  auto *raw = allocate<drmModePropertyRes>(device().resources);
  raw->prop_id = id;
  raw->flags = spec->flags;
  if (device().fixed_zpos && spec->name == "zpos")
    raw->flags |= DRM_MODE_PROP_IMMUTABLE;
  std::strncpy(raw->name, spec->name.c_str(), sizeof(raw->name) - 1);
  const std::vector<EnumValue> values = device().model ? spec->enums : enum_values(spec->name);
  raw->count_enums = static_cast<int>(values.size());
  if (!values.empty())
    raw->enums = static_cast<drm_mode_property_enum *>(std::calloc(values.size(), sizeof(drm_mode_property_enum)));
  for (std::size_t i = 0; i < values.size(); i++) {
    raw->enums[i].value = values[i].value;
    std::strncpy(raw->enums[i].name, values[i].name.c_str(), sizeof(raw->enums[i].name) - 1);
  }
  const auto set_range = [raw](std::int64_t low, std::int64_t high) {
    raw->count_values = 2;
    raw->values = static_cast<std::uint64_t *>(std::calloc(2, sizeof(std::uint64_t)));
    raw->values[0] = static_cast<std::uint64_t>(low);
    raw->values[1] = static_cast<std::uint64_t>(high);
  };
  const std::string &name = spec->name;
  if (spec->range)
    set_range(static_cast<std::int64_t>(spec->range->first), static_cast<std::int64_t>(spec->range->second));
  else if (device().model)
    return raw;
  else if (name == "max bpc")
    set_range(8, 12);
  else if (name == "brightness" || name == "contrast")
    set_range(0, 100);
  else if (name == "hue")
    set_range(-180, 180);
  return raw;
}

void drmModeFreeProperty(drmModePropertyPtr raw)
{
  if (!raw)
    return;
  const Guard guard(device().lock);
  release(device().resources, raw->enums, raw->values, raw);
}

namespace {

std::vector<std::uint8_t> fixed_blob(std::uint32_t id)
{
  std::vector<std::uint8_t> bytes;
  if (device().model) {
    const auto known = device().model->blobs.find(id);
    return known == device().model->blobs.end() ? bytes : known->second;
  }
  const auto append = [&bytes](const auto &value) {
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof(value));
    std::memcpy(&bytes[at], &value, sizeof(value));
  };
  if (id == kPathBlob) {
    bytes.assign(device().path.begin(), device().path.end());
  } else if (id == kWritebackBlob) {
    append(std::uint32_t{DRM_FORMAT_XRGB8888});
  } else if (id == kInFormatsBlob) {
    append(drm_format_modifier_blob{FORMAT_BLOB_CURRENT, 0, 2, sizeof(drm_format_modifier_blob), 1,
                                    sizeof(drm_format_modifier_blob) + 8});
    append(std::uint32_t{DRM_FORMAT_XRGB8888});
    append(std::uint32_t{DRM_FORMAT_NV12});
    append(drm_format_modifier{3, 0, 0, DRM_FORMAT_MOD_LINEAR});
  } else if (id == kOverlayInFormatsBlob) {
    const std::uint32_t extra = device().overlay_extra;
    const std::uint32_t count = extra ? 4 : 2; // an even number keeps the modifiers aligned
    append(drm_format_modifier_blob{FORMAT_BLOB_CURRENT, 0, count, sizeof(drm_format_modifier_blob), 1,
                                    static_cast<std::uint32_t>(sizeof(drm_format_modifier_blob)) + 4 * count});
    append(std::uint32_t{DRM_FORMAT_XRGB8888});
    append(std::uint32_t{DRM_FORMAT_NV12});
    if (extra) {
      append(extra);
      append(extra);
    }
    append(drm_format_modifier{(std::uint64_t{1} << count) - 1, 0, 0, DRM_FORMAT_MOD_LINEAR});
  }
  return bytes;
}

} // namespace

drmModePropertyBlobPtr drmModeGetPropertyBlob(int, std::uint32_t id)
{
  const Guard guard(device().lock);
  if (fails("drmModeGetPropertyBlob"))
    return nullptr;
  const auto foreign = device().foreign_blobs.find(id);
  const auto made = device().old_blobs.find(id); // is there as long as the state of an object names it
  const std::vector<std::uint8_t> bytes = foreign != device().foreign_blobs.end()              ? foreign->second
                                          : device().model && made != device().old_blobs.end() ? made->second
                                                                                               : fixed_blob(id);
  auto *blob = allocate<drmModePropertyBlobRes>(device().resources);
  blob->id = id;
  blob->length = static_cast<std::uint32_t>(bytes.size());
  blob->data = std::calloc(1, bytes.size());
  std::copy(bytes.begin(), bytes.end(), static_cast<std::uint8_t *>(blob->data));
  return blob;
}

void drmModeFreePropertyBlob(drmModePropertyBlobPtr blob)
{
  if (!blob)
    return;
  const Guard guard(device().lock);
  release(device().resources, blob->data, blob);
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
