// SPDX-License-Identifier: LGPL-2.1-or-later
#include "configfs_support.hpp"

#include <cstring>
#include <set>

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include "kms_support.hpp"

namespace kmstest {

namespace {

std::set<std::string> list_cards()
{
  std::set<std::string> cards;
  DIR *directory = opendir("/dev/dri");
  ck_assert(directory != nullptr);
  while (const dirent *entry = readdir(directory))
    if (strncmp(entry->d_name, "card", 4) == 0)
      cards.insert(std::string("/dev/dri/") + entry->d_name);
  closedir(directory);
  return cards;
}

void write_file(const std::string &path, const std::string &text)
{
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ck_assert_msg(fd >= 0, "%s: %s", path.c_str(), strerror(errno));
  ck_assert_msg(write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "%s: %s",
                path.c_str(), strerror(errno));
  close(fd);
}

} // namespace

void ConfigfsDevice::make_directory(const std::string &path)
{
  ck_assert_msg(mkdir(path.c_str(), 0755) == 0, "%s: %s", path.c_str(), strerror(errno));
  made_.push_back(path);
}

void ConfigfsDevice::link(const std::string &from, const std::string &to)
{
  ck_assert_msg(symlink(to.c_str(), from.c_str()) == 0, "%s: %s", from.c_str(), strerror(errno));
  made_.push_back(from);
}

void ConfigfsDevice::make_plane(const std::string &name, int type, const std::string &crtc)
{
  const std::string plane = root_ + "/planes/" + name;
  make_directory(plane);
  write_file(plane + "/type", std::to_string(type));
  link(plane + "/possible_crtcs/" + crtc, root_ + "/crtcs/" + crtc);
}

void ConfigfsDevice::make_output(unsigned index, const OutputSpec &spec)
{
  const std::string n = std::to_string(index);
  const std::string crtc = "crtc" + n;
  make_directory(root_ + "/crtcs/" + crtc);
  write_file(root_ + "/crtcs/" + crtc + "/writeback", "1");
  make_plane("primary" + n, DRM_PLANE_TYPE_PRIMARY, crtc);
  for (unsigned i = 0; i < spec.overlays; i++)
    make_plane("overlay" + n + "-" + std::to_string(i), DRM_PLANE_TYPE_OVERLAY, crtc);
  if (spec.cursor)
    make_plane("cursor" + n, DRM_PLANE_TYPE_CURSOR, crtc);
  const std::string encoder = root_ + "/encoders/encoder" + n;
  make_directory(encoder);
  link(encoder + "/possible_crtcs/" + crtc, root_ + "/crtcs/" + crtc);
  const std::string connector = root_ + "/connectors/connector" + n;
  make_directory(connector);
  write_file(connector + "/status", spec.connected ? "1" : "2");
  link(connector + "/possible_encoders/encoder" + n, encoder);
}

// In the kernel's list they stand in the order in which they were made.
void ConfigfsDevice::find_connectors(const std::vector<OutputSpec> &outputs)
{
  const int fd = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  ck_assert_int_ge(fd, 0);
  drmModeRes *resources = drmModeGetResources(fd);
  ck_assert(resources != nullptr);
  for (int i = 0; i < resources->count_connectors; i++) {
    drmModeConnector *connector = drmModeGetConnector(fd, resources->connectors[i]);
    ck_assert(connector != nullptr);
    connectors_.push_back(std::string(drmModeGetConnectorTypeName(connector->connector_type)) +
                          "-" + std::to_string(connector->connector_type_id));
    drmModeFreeConnector(connector);
  }
  drmModeFreeResources(resources);
  close(fd);
  ck_assert_uint_eq(connectors_.size(), outputs.size());
}

ConfigfsDevice::ConfigfsDevice(const std::string &name, const std::vector<OutputSpec> &outputs)
    : root_("/sys/kernel/config/vkms/" + name)
{
  const std::set<std::string> before = list_cards();
  make_directory(root_);
  for (unsigned i = 0; i < outputs.size(); i++)
    make_output(i, outputs[i]);
  write_file(root_ + "/enabled", "1");
  for (const std::string &card : list_cards())
    if (!before.count(card))
      path_ = card;
  ck_assert_msg(!path_.empty(), "no card of %s", root_.c_str());
  find_connectors(outputs);
}

void ConfigfsDevice::plug(unsigned output, bool connected)
{
  write_file(root_ + "/connectors/connector" + std::to_string(output) + "/status",
             connected ? "1" : "2");
}

void ConfigfsDevice::remove()
{
  write_file(root_ + "/enabled", "0");
}

ConfigfsDevice::~ConfigfsDevice()
{
  const int fd = open((root_ + "/enabled").c_str(), O_WRONLY | O_CLOEXEC);
  if (fd >= 0) {
    (void)!write(fd, "0", 1);
    close(fd);
  }
  for (auto it = made_.rbegin(); it != made_.rend(); ++it)
    if (unlink(it->c_str()) != 0)
      rmdir(it->c_str());
}

} // namespace kmstest
