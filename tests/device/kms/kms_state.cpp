// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_state.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

namespace gstdrm::test {

int open_vkms()
{
  for (int n = 0; n < 16; n++) {
    const int fd = open(("/dev/dri/card" + std::to_string(n)).c_str(), O_RDWR | O_CLOEXEC);
    drmVersion *version = fd >= 0 ? drmGetVersion(fd) : nullptr;
    const bool found = version && std::string(version->name) == "vkms";
    drmFreeVersion(version);
    if (found)
      return fd;
    if (fd >= 0)
      close(fd);
  }
  ck_abort_msg("no vkms");
  return -1;
}

namespace {

void read_object(int fd, std::uint32_t id, std::uint32_t type, State &state)
{
  drmModeObjectProperties *list = drmModeObjectGetProperties(fd, id, type);
  for (std::uint32_t i = 0; list && i < list->count_props; i++) {
    drmModePropertyRes *property = drmModeGetProperty(fd, list->props[i]);
    const std::string name = property->name;
    // these blobs have another number each time; their contents are compared below
    const bool by_contents = name == "MODE_ID" || name == "GAMMA_LUT";
    if (!(property->flags & DRM_MODE_PROP_IMMUTABLE) && !by_contents)
      state[std::to_string(id) + ":" + name] = list->prop_values[i];
    if (by_contents) {
      drmModePropertyBlobRes *blob =
          drmModeGetPropertyBlob(fd, static_cast<std::uint32_t>(list->prop_values[i]));
      for (std::uint32_t b = 0; blob && b < blob->length; b++)
        state[std::to_string(id) + ":" + name + std::to_string(b)] = static_cast<std::uint8_t *>(blob->data)[b];
      drmModeFreePropertyBlob(blob);
    }
    drmModeFreeProperty(property);
  }
  drmModeFreeObjectProperties(list);
}

} // namespace

State read_state(int fd)
{
  State state;
  drmModeRes *resources = drmModeGetResources(fd);
  for (int i = 0; i < resources->count_crtcs; i++)
    read_object(fd, resources->crtcs[i], DRM_MODE_OBJECT_CRTC, state);
  for (int i = 0; i < resources->count_connectors; i++)
    read_object(fd, resources->connectors[i], DRM_MODE_OBJECT_CONNECTOR, state);
  drmModePlaneRes *planes = drmModeGetPlaneResources(fd);
  for (std::uint32_t i = 0; i < planes->count_planes; i++)
    read_object(fd, planes->planes[i], DRM_MODE_OBJECT_PLANE, state);
  drmModeFreePlaneResources(planes);
  drmModeFreeResources(resources);
  return state;
}

std::uint32_t show_something(int fd)
{
  drmModeRes *resources = drmModeGetResources(fd);
  std::uint32_t connector_id = resources->connectors[0];
  drmModeConnector *connector = drmModeGetConnector(fd, connector_id);
  ck_assert_int_ge(connector->count_modes, 2);
  drmModeModeInfo mode = connector->modes[1];
  drm_mode_create_dumb create{};
  create.width = mode.hdisplay;
  create.height = mode.vdisplay;
  create.bpp = 32;
  ck_assert_int_eq(drmIoctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &create), 0);
  std::uint32_t framebuffer = 0;
  ck_assert_int_eq(drmModeAddFB(fd, mode.hdisplay, mode.vdisplay, 24, 32, create.pitch, create.handle,
                                &framebuffer),
                   0);
  ck_assert_int_eq(drmModeSetCrtc(fd, resources->crtcs[0], framebuffer, 0, 0, &connector_id, 1, &mode), 0);
  drmModeFreeConnector(connector);
  drmModeFreeResources(resources);
  return framebuffer;
}

std::string difference(const State &before, const State &after)
{
  for (const auto &[name, value] : before)
    if (!after.count(name) || after.at(name) != value)
      return name + ": " + std::to_string(value) + " became " +
             (after.count(name) ? std::to_string(after.at(name)) : "nothing");
  return before.size() == after.size() ? "" : "another set of properties";
}

void expect_same(const State &before, const State &after)
{
  const std::string text = difference(before, after);
  ck_assert_msg(text.empty(), "%s", text.c_str());
}

} // namespace gstdrm::test
