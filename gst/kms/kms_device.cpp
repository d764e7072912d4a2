// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_device.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include "kms_objects.hpp"

namespace gstdrm::kms {

namespace {

constexpr const char *kDriDirectory = "/dev/dri";
constexpr const char *kNoDeviceHint =
    "Load a display driver (modprobe vkms makes a virtual one), or name a device with "
    "driver-name, bus-id, device or fd.";

Error open_error(const std::string &path, int error)
{
  std::string message = "Could not open " + path + " (" + errno_text(error) + "). ";
  if (error == EACCES || error == EPERM)
    message += "This user may not use it: add the user to the group that owns the node (video on "
               "most systems), or pass an open descriptor in fd.";
  else if (error == ENOENT || error == ENODEV || error == ENXIO)
    message += std::string("There is no such device. ") + kNoDeviceHint;
  else
    message += "Check that it is a KMS device node.";
  return device_error(std::move(message), error);
}

// card nodes in number order; sysfs is not asked, because a container may lack it
std::vector<std::string> list_cards()
{
  std::vector<unsigned long> numbers;
  if (DIR *directory = opendir(kDriDirectory)) {
    while (const dirent *entry = readdir(directory)) {
      const std::string name = entry->d_name;
      if (name.rfind("card", 0) != 0 || name.size() == 4 ||
          name.find_first_not_of("0123456789", 4) != std::string::npos || name.size() > 8)
        continue;
      numbers.push_back(std::strtoul(name.c_str() + 4, nullptr, 10));
    }
    closedir(directory);
  }
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::string> paths;
  for (const unsigned long number : numbers)
    paths.push_back(std::string(kDriDirectory) + "/card" + std::to_string(number));
  return paths;
}

std::string describe(const DeviceRequest &request)
{
  std::string text;
  if (!request.driver_name.empty())
    text += " with driver-name=" + request.driver_name;
  if (!request.bus_id.empty())
    text += " with bus-id=" + request.bus_id;
  return text;
}

bool has_connected_output(int fd)
{
  const ResPtr res(drmModeGetResources(fd));
  if (!res)
    return false;
  for (int i = 0; i < res->count_connectors; i++) {
    const ConnectorPtr connector(drmModeGetConnectorCurrent(fd, res->connectors[i]));
    if (connector && connector->connector_type != DRM_MODE_CONNECTOR_WRITEBACK &&
        connector->connection == DRM_MODE_CONNECTED)
      return true;
  }
  return false;
}

std::string read_bus_id(int fd)
{
  // the unique name is only filled in after the interface version was set (drm_ioctl.c, drm_setversion)
  drmSetVersion version{1, 4, -1, -1};
  drmSetInterfaceVersion(fd, &version);
  char *id = drmGetBusid(fd);
  std::string text = id ? id : "";
  drmFreeBusid(id);
  return text;
}

} // namespace

Result<std::uint32_t> HandleTable::acquire(const BufferIdentity &identity, int dmabuf_fd)
{
  const std::lock_guard guard(lock_);
  if (auto it = entries_.find(identity); it != entries_.end()) {
    it->second.users++;
    return it->second.handle;
  }
  std::uint32_t handle = 0;
  if (drmPrimeFDToHandle(drm_fd_, dmabuf_fd, &handle) != 0) {
    const int error = errno;
    return Error{ErrorCode::Import,
                 "The display driver does not import the dma-buf with descriptor " +
                     std::to_string(dmabuf_fd) + " (PRIME_FD_TO_HANDLE: " + errno_text(error) +
                     "). Let upstream allocate from this device (allocator=dumb or dma-heap).",
                 error};
  }
  entries_[identity] = Entry{handle, 1};
  return handle;
}

void HandleTable::release(const BufferIdentity &identity) noexcept
{
  const std::lock_guard guard(lock_);
  const auto it = entries_.find(identity);
  if (it == entries_.end() || --it->second.users > 0)
    return;
  drm_gem_close close_request{it->second.handle, 0};
  drmIoctl(drm_fd_, DRM_IOCTL_GEM_CLOSE, &close_request);
  entries_.erase(it);
}

Device::Device(UniqueFd fd, std::string path, std::string driver)
    : fd_(std::move(fd)), path_(std::move(path)), driver_(std::move(driver)), handles_(fd_.get())
{
  name_ = (path_.empty() ? "fd " + std::to_string(fd_.get()) : path_) + " (" + driver_ + ")";
}

Result<void> Device::set_client_caps()
{
  if (drmSetClientCap(fd(), DRM_CLIENT_CAP_UNIVERSAL_PLANES, 1) != 0) {
    const int error = errno;
    return device_error(name_ + " sets no modes (universal planes: " + errno_text(error) +
                            "). Choose a card with a display output.",
                        error);
  }
  if (drmSetClientCap(fd(), DRM_CLIENT_CAP_ATOMIC, 1) != 0) {
    const int error = errno;
    return device_error(name_ + " has no atomic mode setting (" + errno_text(error) +
                            "). This sink needs it; kmssink drives such a device.",
                        error);
  }
  // only valid after the atomic cap (drm_ioctl.c, drm_setclientcap)
  has_writeback_ = drmSetClientCap(fd(), DRM_CLIENT_CAP_WRITEBACK_CONNECTORS, 1) == 0;

  std::uint64_t value = 0;
  takes_modifiers_ = drmGetCap(fd(), DRM_CAP_ADDFB2_MODIFIERS, &value) == 0 && value == 1;
  value = 0;
  if (drmGetCap(fd(), DRM_CAP_PRIME, &value) != 0 || !(value & DRM_PRIME_CAP_IMPORT))
    return device_error(name_ + " cannot import dma-bufs (DRM_CAP_PRIME says " +
                        std::to_string(value) + "). Choose another card.");
  return {};
}

Result<std::shared_ptr<Device>> Device::adopt(UniqueFd fd, const std::string &path)
{
  const VersionPtr version(drmGetVersion(fd.get()));
  if (!version) {
    const int error = errno;
    return device_error((path.empty() ? "The given fd" : path) +
                            " is not a DRM device (DRM_IOCTL_VERSION: " + errno_text(error) + "). " +
                            kNoDeviceHint,
                        error);
  }
  const std::string driver(version->name, static_cast<std::size_t>(version->name_len));
  std::shared_ptr<Device> device(new Device(std::move(fd), path, driver));
  if (Result<void> caps = device->set_client_caps(); !caps)
    return caps.error();
  return device;
}

Result<std::shared_ptr<Device>> Device::open_path(const std::string &path)
{
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const int error = errno;
  if (!fd)
    return open_error(path, error);
  return adopt(std::move(fd), path);
}

bool Device::matches(const DeviceRequest &request) const
{
  if (!request.driver_name.empty() && driver_ != request.driver_name)
    return false;
  if (request.bus_id.empty())
    return true;
  const std::string id = read_bus_id(fd());
  return id == request.bus_id || id == "pci:" + request.bus_id;
}

Result<std::shared_ptr<Device>> Device::search(const DeviceRequest &request)
{
  const bool any = request.driver_name.empty() && request.bus_id.empty();
  const std::vector<std::string> cards = list_cards();
  std::shared_ptr<Device> fallback;
  std::string looked_at;
  bool denied = false;
  for (const std::string &path : cards) {
    Result<std::shared_ptr<Device>> device = open_path(path);
    if (!device) {
      denied |= device.error().sys_errno == EACCES || device.error().sys_errno == EPERM;
      looked_at += " " + device.error().message;
      continue;
    }
    if (!(*device)->matches(request)) {
      looked_at += " " + (*device)->name() + " is another one.";
      continue;
    }
    if (!any || has_connected_output((*device)->fd()))
      return std::move(*device);
    if (!fallback)
      fallback = std::move(*device);
  }
  if (fallback)
    return fallback;
  if (cards.empty())
    looked_at = std::string(" There is no ") + kDriDirectory + "/card*. " + kNoDeviceHint;
  return device_error("No KMS device" + describe(request) + " was found." + looked_at,
                      denied ? EACCES : ENODEV);
}

Result<std::shared_ptr<Device>> Device::open(const DeviceRequest &request)
{
  if (request.fd >= 0) {
    UniqueFd fd = UniqueFd::dup(request.fd);
    const int error = errno;
    if (!fd)
      return device_error("fd=" + std::to_string(request.fd) + " is not an open descriptor (" +
                              errno_text(error) + "). Pass an open KMS device.",
                          error);
    return adopt(std::move(fd), "");
  }
  if (request.path.empty())
    return search(request);
  Result<std::shared_ptr<Device>> device = open_path(request.path);
  if (device && !(*device)->matches(request))
    return device_error((*device)->name() + " is not the device" + describe(request) +
                        ". Leave out one of the two.");
  return device;
}

Result<void> Device::require_master() const
{
  if (drmIsMaster(fd()) || drmSetMaster(fd()) == 0)
    return {};
  const int error = errno;
  return device_error("Another program holds the display of " + name_ + " (SET_MASTER: " +
                          errno_text(error) +
                          "). Stop the compositor or other sink that uses it (or switch to a free "
                          "virtual terminal), or pass a descriptor that is master in fd.",
                      error);
}

} // namespace gstdrm::kms
