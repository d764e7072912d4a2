// SPDX-License-Identifier: LGPL-2.1-or-later
// The fake libdrm: the properties of the objects, their values, and blobs.
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
