// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_saved_state.hpp"

#include <array>

#include "engine/card/kms_objects.hpp"

namespace gstdrm::kms {

namespace {

constexpr std::array kPlaneProperties = {
    "FB_ID",  "CRTC_ID", "SRC_X",  "SRC_Y",    "SRC_W", "SRC_H",          "CRTC_X",
    "CRTC_Y", "CRTC_W",  "CRTC_H", "rotation", "zpos",  "COLOR_ENCODING", "COLOR_RANGE"};

// A plane that serves another CRTC is not ours to touch.
bool is_ours(std::uint64_t user_crtc, const Output &output)
{
  return user_crtc == 0 || user_crtc == output.crtc.id;
}

} // namespace

Result<SavedState> SavedState::capture(const Device &device, const Output &output)
{
  PropertyReader reader(device.fd());
  SavedState state;
  Result<PropertySet> crtc = reader.read(output.crtc.id, DRM_MODE_OBJECT_CRTC);
  if (!crtc)
    return crtc.error();
  state.crtc_active_ = property_value(*crtc, "ACTIVE") != 0;
  if (const auto blob_id = static_cast<std::uint32_t>(property_value(*crtc, "MODE_ID"))) {
    Result<std::vector<std::uint8_t>> mode = read_blob(device.fd(), blob_id);
    if (!mode)
      return mode.error();
    state.mode_ = std::move(*mode);
  }
  Result<PropertySet> connector = reader.read(output.connector.id, DRM_MODE_OBJECT_CONNECTOR);
  if (!connector)
    return connector.error();
  state.connector_crtc_ = property_value(*connector, "CRTC_ID");
  state.colorspace_ = property_value(*connector, "Colorspace");
  if (const auto blob_id =
          static_cast<std::uint32_t>(property_value(*connector, "HDR_OUTPUT_METADATA"))) {
    Result<std::vector<std::uint8_t>> hdr = read_blob(device.fd(), blob_id);
    if (!hdr)
      return hdr.error();
    state.hdr_ = std::move(*hdr);
  }
  if (output.writeback) {
    Result<PropertySet> writeback = reader.read(output.writeback->id, DRM_MODE_OBJECT_CONNECTOR);
    if (!writeback)
      return writeback.error();
    state.writeback_crtc_ = property_value(*writeback, "CRTC_ID");
  }
  for (const Plane &plane : output.crtc_planes) {
    Result<PropertySet> properties = reader.read(plane.id, DRM_MODE_OBJECT_PLANE);
    if (!properties)
      return properties.error();
    SavedPlane saved{plane.id, property_value(*properties, "CRTC_ID"), {}};
    for (const char *name : kPlaneProperties)
      if (const Property *property = find(*properties, name))
        saved.values.push_back({property->id, name, property->value});
    if (is_ours(saved.crtc_id, output))
      state.planes_.push_back(std::move(saved));
  }
  return state;
}

int SavedState::restore_old(const Device &device, const Output &output) const
{
  Request request;
  PropertyBlob mode;
  if (!mode_.empty()) {
    Result<PropertyBlob> blob = PropertyBlob::create(device.fd(), mode_.data(), mode_.size());
    if (!blob)
      return -blob.error().sys_errno;
    mode = std::move(*blob);
  }
  PropertyBlob hdr;
  if (!hdr_.empty()) {
    Result<PropertyBlob> blob = PropertyBlob::create(device.fd(), hdr_.data(), hdr_.size());
    if (!blob)
      return -blob.error().sys_errno;
    hdr = std::move(*blob);
  }
  if (const Property *property = find(output.connector.properties, "HDR_OUTPUT_METADATA"))
    request.set(output.connector.id, property->id, "HDR_OUTPUT_METADATA", hdr.id());
  if (const Property *property = find(output.connector.properties, "Colorspace"))
    request.set(output.connector.id, property->id, "Colorspace", colorspace_);
  request.set(output.crtc.id, output.crtc.properties, "MODE_ID", mode.id());
  request.set(output.crtc.id, output.crtc.properties, "ACTIVE", crtc_active_ ? 1 : 0);
  request.set(output.connector.id, output.connector.properties, "CRTC_ID", connector_crtc_);
  if (output.writeback)
    request.set(output.writeback->id, output.writeback->properties, "CRTC_ID", writeback_crtc_);
  for (const SavedPlane &plane : planes_)
    for (const Value &value : plane.values)
      request.set(plane.plane_id, value.property_id, value.name, value.value);
  return commit_request(device.fd(), request, DRM_MODE_ATOMIC_ALLOW_MODESET, 0);
}

int SavedState::turn_off(const Device &device, const Output &output)
{
  Request request;
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
  if (restore_old(device, output) == 0)
    return {};
  const int ret = turn_off(device, output);
  if (ret != 0)
    return device_error("The display of " + device.name() + " could not be put back: " +
                            errno_text(-ret) + ".",
                        -ret);
  return {};
}

} // namespace gstdrm::kms
