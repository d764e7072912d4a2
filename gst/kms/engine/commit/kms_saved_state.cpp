// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_saved_state.hpp"

#include <array>

#include "engine/card/kms_objects.hpp"

namespace gstdrm::kms {

namespace {

// What each object shows, by its properties: those that a mode set of ours changes.
constexpr std::array kCrtcProperties = {"ACTIVE",     "MODE_ID",     "GAMMA_LUT",  "DEGAMMA_LUT",
                                        "CTM",        "VRR_ENABLED", "brightness", "contrast",
                                        "saturation", "hue"};
constexpr std::array kConnectorProperties = {"CRTC_ID", "HDR_OUTPUT_METADATA", "Colorspace",
                                             "Broadcast RGB", "max bpc"};
constexpr std::array kWritebackProperties = {"CRTC_ID"};
constexpr std::array kPlaneProperties = {
    "FB_ID",      "CRTC_ID",        "SRC_X",       "SRC_Y",
    "SRC_W",      "SRC_H",          "CRTC_X",      "CRTC_Y",
    "CRTC_W",     "CRTC_H",         "rotation",    "zpos",
    "alpha",      "COLOR_ENCODING", "COLOR_RANGE", "pixel blend mode",
    "brightness", "contrast",       "saturation",  "hue"};

// A plane that serves another CRTC is not ours to touch.
bool is_ours(std::uint64_t user_crtc, const Output &output)
{
  return user_crtc == 0 || user_crtc == output.crtc.id;
}

// Of a candidate for the picture.
std::vector<PropertySetting> settings_of(const Output &output, std::uint32_t plane_id)
{
  for (const Plane &plane : output.planes)
    if (plane.id == plane_id)
      return plane.settings;
  return {};
}

} // namespace

std::span<const char *const> plane_state_names()
{
  return kPlaneProperties;
}

// What cannot be set is left out: a commit that names an immutable property is refused as a whole
// (drm_property_change_valid_get()), and zpos is one on many drivers.
Result<void> SavedState::save(const Device &device, std::uint32_t object_id,
                              const PropertySet &properties, std::span<const char *const> names)
{
  for (const char *name : names) {
    const Property *property = find(properties, name);
    if (!property || (property->flags & DRM_MODE_PROP_IMMUTABLE))
      continue;
    Value value{object_id, property->id, name, property->value, {}};
    if ((property->flags & DRM_MODE_PROP_BLOB) && property->value != 0) {
      auto blob = read_blob(device.fd(), static_cast<std::uint32_t>(property->value));
      if (!blob)
        return blob.error();
      value.blob = std::move(*blob);
    }
    values_.push_back(std::move(value));
  }
  return {};
}

Result<SavedState> SavedState::capture(const Device &device, const Output &output)
{
  PropertyReader reader(device.fd());
  SavedState state;
  const auto save = [&](std::uint32_t id, std::uint32_t type, std::span<const char *const> own,
                        const std::vector<PropertySetting> &settings) -> Result<void> {
    std::vector<const char *> names(own.begin(), own.end());
    for (const PropertySetting &setting : settings)
      names.push_back(setting.name.c_str());
    Result<PropertySet> properties = reader.read(id, type);
    if (!properties)
      return properties.error();
    if (type == DRM_MODE_OBJECT_PLANE && !is_ours(property_value(*properties, "CRTC_ID"), output))
      return {};
    return state.save(device, id, *properties, names);
  };
  Result<void> saved;
  if (!output.joined)
    saved = save(output.crtc.id, DRM_MODE_OBJECT_CRTC, kCrtcProperties, {});
  if (saved && !output.joined)
    saved = save(output.connector.id, DRM_MODE_OBJECT_CONNECTOR, kConnectorProperties,
                 output.connector.settings);
  if (saved && output.writeback)
    saved = save(output.writeback->id, DRM_MODE_OBJECT_CONNECTOR, kWritebackProperties, {});
  for (const Plane &plane : output.crtc_planes)
    if (saved)
      saved =
          save(plane.id, DRM_MODE_OBJECT_PLANE, kPlaneProperties, settings_of(output, plane.id));
  if (!saved)
    return saved.error();
  return state;
}

int SavedState::restore_old(const Device &device, std::uint32_t flags) const
{
  Request request;
  std::vector<PropertyBlob> blobs; // until the commit is made
  for (const Value &value : values_) {
    std::uint64_t number = value.value;
    if (!value.blob.empty()) {
      auto blob = PropertyBlob::create(device.fd(), value.blob.data(), value.blob.size());
      if (!blob)
        return -blob.error().sys_errno;
      number = blob->id();
      blobs.push_back(std::move(*blob));
    }
    request.set(value.object_id, value.property_id, value.name.c_str(), number);
  }
  return commit_request(device.fd(), request, flags, 0);
}

int SavedState::turn_off(const Device &device, const Output &output)
{
  Request request;
  if (output.joined) {
    request.disable_plane(output.planes.front());
    return commit_request(device.fd(), request, 0, 0);
  }
  request.set(output.crtc.id, output.crtc.properties, "MODE_ID", 0);
  request.set(output.crtc.id, output.crtc.properties, "ACTIVE", 0);
  request.set(output.connector.id, output.connector.properties, "CRTC_ID", 0);
  if (output.writeback)
    request.set(output.writeback->id, output.writeback->properties, "CRTC_ID", 0);
  for (const Plane &plane : output.crtc_planes)
    if (is_ours(property_value(plane.properties, "CRTC_ID"), output))
      request.disable_plane(plane);
  return commit_request(device.fd(), request, DRM_MODE_ATOMIC_ALLOW_MODESET, 0);
}

Result<void> SavedState::restore(const Device &device, const Output &output) const
{
  if (restore_old(device, output.joined ? 0 : DRM_MODE_ATOMIC_ALLOW_MODESET) == 0)
    return {};
  const int ret = turn_off(device, output);
  if (ret != 0)
    return device_error("The display of " + device.name() +
                            " could not be put back: " + errno_text(-ret) + ".",
                        -ret);
  return {};
}

} // namespace gstdrm::kms
