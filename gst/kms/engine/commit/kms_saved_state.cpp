// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_saved_state.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

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

// Returns nullopt if there is no such framebuffer.
std::optional<FramebufferFacts> read_framebuffer(int drm_fd, std::uint32_t id)
{
  const std::unique_ptr<drmModeFB2, DrmDeleter<drmModeFreeFB2>> raw(drmModeGetFB2(drm_fd, id));
  if (!raw)
    return errno == ENOENT ? std::nullopt : std::optional(FramebufferFacts{});
  // the kernel makes handles for a master and for root (drm_framebuffer.c,
  // drm_mode_getfb2_ioctl()), the same for planes in one buffer
  for (std::size_t i = 0; i < std::size(raw->handles); i++)
    if (raw->handles[i] != 0 &&
        std::find(raw->handles, raw->handles + i, raw->handles[i]) == raw->handles + i)
      drmCloseBufferHandle(drm_fd, raw->handles[i]);
  FramebufferFacts facts{raw->width, raw->height,     raw->pixel_format, raw->flags,
                         0,          raw->pitches[0], raw->offsets[0]};
  if (raw->flags & DRM_MODE_FB_MODIFIERS)
    facts.modifier = raw->modifier;
  return facts;
}

// Whether two modes are the same on the cable, whatever they are called.
bool same_timings(const drmModeModeInfo &a, const drmModeModeInfo &b)
{
  const auto numbers = [](const drmModeModeInfo &m) {
    return std::array<std::uint32_t, 12>{
        m.clock,     m.hdisplay,    m.hsync_start,
        m.hsync_end, m.htotal,      m.hskew,
        m.vdisplay,  m.vsync_start, m.vsync_end,
        m.vtotal,    m.vscan,       m.flags & ~std::uint32_t{DRM_MODE_FLAG_PIC_AR_MASK}};
  };
  return numbers(a) == numbers(b);
}

} // namespace

// What cannot be set is left out: a commit that names an immutable property is refused as a whole
// (drm_property_change_valid_get()), and zpos is one on many drivers.
Result<void> SavedState::save(const Device &device, std::uint32_t object_id,
                              const PropertySet &properties, std::span<const char *const> names)
{
  for (const char *name : names) {
    const Property *property = find(properties, name);
    if (!property || !property->can_be_set())
      continue;
    Value value{object_id, property->id, name, property->value, {}};
    if ((property->flags & DRM_MODE_PROP_BLOB) && property->value != 0) {
      auto blob = read_blob(device.fd(), static_cast<std::uint32_t>(property->value));
      if (!blob)
        return blob.error();
      value.blob = std::move(*blob);
    }
    if (value.name == "FB_ID" && property->value != 0) {
      value.framebuffer =
          read_framebuffer(device.memory_fd(), static_cast<std::uint32_t>(property->value));
      if (!value.framebuffer)
        continue; // gone meanwhile
    }
    values_.push_back(std::move(value));
  }
  return {};
}

Result<SavedState> SavedState::capture(const Device &device, const Output &output)
{
  PropertyReader reader(device.fd());
  SavedState state;
  state.framebuffers_made_ = device.framebuffers().count();
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

// The id of a framebuffer that is gone may have been given to another one, of this process or of
// any other: its picture is not the old one.
bool SavedState::is_gone(const Device &device, const Value &value) const
{
  const auto id = static_cast<std::uint32_t>(value.value);
  return value.framebuffer && (device.framebuffers().made_since(id, framebuffers_made_) ||
                               read_framebuffer(device.memory_fd(), id) != value.framebuffer);
}

void SavedState::suit(const Output &output)
{
  const std::vector<drmModeModeInfo> &modes = output.connector.modes;
  for (const Value &value : values_) {
    drmModeModeInfo mode{};
    if (value.name != "MODE_ID" || value.blob.size() != sizeof(mode))
      continue;
    std::memcpy(&mode, value.blob.data(), sizeof(mode));
    is_unfit_ = std::none_of(modes.begin(), modes.end(), [&mode](const drmModeModeInfo &listed) {
      return same_timings(listed, mode);
    });
  }
}

int SavedState::restore_old(const Device &device, std::uint32_t flags) const
{
  Request request;
  std::vector<PropertyBlob> blobs; // until the commit is made
  if (is_unfit_ || std::any_of(values_.begin(), values_.end(),
                               [&](const Value &value) { return is_gone(device, value); }))
    return -ENOENT;
  for (const Value &value : values_) {
    std::uint64_t number = value.value;
    if (!value.blob.empty()) {
      auto blob = make_blob(device.fd(), value.blob.data(), value.blob.size());
      if (!blob)
        return -blob.error().sys_errno;
      number = blob->get();
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
    if (is_ours(plane.user(), output))
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
