// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_device.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include <gst/drm/core/drm_node.hpp>
#include <gst/drm/core/log.hpp>

#include "kms_objects.hpp"

namespace gstdrm::kms {

namespace {

Error open_error(const std::string &path, int error)
{
  std::string message = "Could not open " + path + ": " + errno_text(error) + ". ";
  if (error == EACCES || error == EPERM)
    message += "This user may not use it: add the user to the group that owns the node (video on "
               "most systems), or pass an open descriptor in fd.";
  else if (error == ENOENT || error == ENODEV || error == ENXIO)
    message += std::string("There is no such device. ") + kNoDeviceHint;
  else
    message += "Check that it is a KMS device node.";
  return device_error(std::move(message), error);
}

// The folder or link in sysfs that the link leads to.
std::string target_of(const std::string &link)
{
  std::error_code error;
  return std::filesystem::canonical(link, error).filename().string();
}

// "0000:00:02.0", which is on "pci"; the kernel's own name (drm_getunique()) is for masters alone.
struct BusDevice {
  std::string bus, name;
};
BusDevice find_bus_device(dev_t node)
{
  const std::string device = "/sys/dev/char/" + std::to_string(major(node)) + ":" +
                             std::to_string(minor(node)) + "/device";
  return {target_of(device + "/subsystem"), target_of(device)};
}

// Where there is no sysfs. Only the current or a former master is told.
std::string read_bus_id(int fd)
{
  char *id = drmGetBusid(fd);
  std::string text = id ? id : "";
  drmFreeBusid(id);
  return text;
}

// Another open file of the device behind `fd`, which is not master; none where the node cannot be
// opened: it is not in this mount namespace, or this user may not.
UniqueFd open_memory_file(int fd)
{
  struct stat status {};
  if (fstat(fd, &status) != 0)
    return {};
  const std::unique_ptr<char, DrmDeleter<drmFree>> name(drmGetDeviceNameFromFd2(fd));
  // libdrm asks sysfs, which a container may lack
  const std::string path = name ? name.get() : drm_node_path(status.st_rdev);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat other {};
  if (!file || fstat(file.get(), &other) != 0 || other.st_rdev != status.st_rdev) {
    GSTDRM_DEBUG("%s cannot be opened a second time: memory is on fd %d too", path.c_str(), fd);
    return {};
  }
  // whoever opens a card that has no master becomes it (drm_auth.c, drm_master_open())
  if (drmIsMaster(file.get()))
    drmDropMaster(file.get());
  return file;
}

// The name of the render node that is open; empty if it is none. Their minor numbers begin at 128
// (Documentation/admin-guide/devices.txt).
std::string render_node(int fd)
{
  constexpr unsigned kFirstRender = 128, kPerType = 64;
  struct stat status {};
  if (fstat(fd, &status) != 0 || major(status.st_rdev) != kDrmMajor)
    return {};
  return minor(status.st_rdev) / kPerType == kFirstRender / kPerType ? drm_node_path(status.st_rdev)
                                                                     : std::string();
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
                     std::to_string(dmabuf_fd) + ": PRIME_FD_TO_HANDLE: " + errno_text(error) +
                     ". Let upstream allocate from this device (allocator=dumb or dma-heap).",
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
  if (closes_handles_)
    drmCloseBufferHandle(drm_fd_, it->second.handle);
  entries_.erase(it);
}

namespace {

// A lock of the open file (fcntl(2), F_OFD_SETLK) on the byte with the plane's number: memory_fd()
// is an open file of this process alone, and every process locks the same node. 0 or an errno.
int set_plane_lock(const Device &device, std::uint32_t plane_id, short type) noexcept
{
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(plane_id);
  range.l_len = 1;
  return fcntl(device.memory_fd(), F_OFD_SETLK, &range) == 0 ? 0 : errno;
}

} // namespace

bool PlaneLock::lock(std::shared_ptr<const Device> device, std::uint32_t plane_id)
{
  unlock();
  const int error = set_plane_lock(*device, plane_id, F_WRLCK);
  if (error == EAGAIN || error == EACCES)
    return false;
  device_ = std::move(device); // another error: the kernel has no such locks
  plane_id_ = plane_id;
  return true;
}

void PlaneLock::unlock() noexcept
{
  if (const auto device = std::exchange(device_, nullptr))
    (void)set_plane_lock(*device, plane_id_, F_UNLCK);
}

std::uint64_t ProbeLog::events()
{
  const std::lock_guard guard(lock_);
  if (uevents_.read() != Uevent::Other)
    events_++;
  return events_;
}

bool ProbeLog::was_probed(std::uint32_t connector_id, std::uint64_t events) const
{
  const std::lock_guard guard(lock_);
  const auto it = probed_.find(connector_id);
  return it != probed_.end() && it->second == events;
}

void ProbeLog::probed(std::uint32_t connector_id, std::uint64_t events)
{
  const std::lock_guard guard(lock_);
  probed_[connector_id] = events;
}

namespace {

// The number of the device node that was opened; 0 if there is none.
dev_t node_of(int fd)
{
  struct stat status {};
  return fstat(fd, &status) == 0 ? status.st_rdev : 0;
}

} // namespace

Device::Device(UniqueFd fd, UniqueFd memory_fd, std::string path, std::string driver)
    : fd_(std::move(fd)), memory_fd_(std::move(memory_fd)), node_(node_of(fd_.get())),
      probes_(node_), path_(std::move(path)), driver_(std::move(driver)),
      handles_(this->memory_fd(), memory_fd_ || !path_.empty()), events_(fd_.get())
{
  name_ = (path_.empty() ? "fd " + std::to_string(fd_.get()) : path_) + " (" + driver_ + ")";
}

Device::~Device()
{
  fd_.reset(); // first, because this descriptor is master until it is closed
  GSTDRM_DEBUG("%s was closed", name_.c_str());
  if (on_closed_)
    on_closed_(*this);
}

Result<void> Device::set_client_caps()
{
  if (drmSetClientCap(fd(), DRM_CLIENT_CAP_UNIVERSAL_PLANES, 1) != 0) {
    const int error = errno;
    return device_error(name_ + " sets no modes: DRM_CLIENT_CAP_UNIVERSAL_PLANES: " +
                            errno_text(error) + ". Choose a card with a display output.",
                        error);
  }
  if (drmSetClientCap(fd(), DRM_CLIENT_CAP_ATOMIC, 1) != 0) {
    const int error = errno;
    return device_error(name_ + " has no atomic mode setting: " + errno_text(error) +
                            ". This sink needs it; kmssink drives such a device.",
                        error);
  }
  if (!file_is_lent())
    list_everything();
  std::uint64_t value = 0;
  takes_modifiers_ = drmGetCap(fd(), DRM_CAP_ADDFB2_MODIFIERS, &value) == 0 && value == 1;
  value = 0;
  if (drmGetCap(fd(), DRM_CAP_PRIME, &value) != 0 || !(value & DRM_PRIME_CAP_IMPORT))
    return device_error(name_ + " cannot import dma-bufs (DRM_CAP_PRIME says " +
                        std::to_string(value) + "). Choose another card.");
  GSTDRM_DEBUG("opened %s as fd %d, which takes %s", name_.c_str(), fd(),
               takes_modifiers_ ? "modifiers" : "no modifiers");
  return {};
}

void Device::list_writeback_connectors() const
{
  // only valid after the atomic cap (drm_ioctl.c, drm_setclientcap); may fail: it is optional
  drmSetClientCap(fd(), DRM_CLIENT_CAP_WRITEBACK_CONNECTORS, 1);
}

void Device::list_everything() const
{
  list_writeback_connectors();
  drmSetClientCap(fd(), DRM_CLIENT_CAP_ASPECT_RATIO, 1); // likewise
}

Result<std::shared_ptr<Device>> Device::adopt(UniqueFd fd, const std::string &path)
{
  const VersionPtr version(drmGetVersion(fd.get()));
  if (!version) {
    const int error = errno;
    return device_error((path.empty() ? "The given fd" : path) +
                            " is not a DRM device: DRM_IOCTL_VERSION: " + errno_text(error) + ". " +
                            kNoDeviceHint,
                        error);
  }
  if (const std::string node = render_node(fd.get()); !node.empty())
    return device_error(
        (path.empty() ? "The given fd (" + node + ")" : path) +
            " is a render node, which draws and shows nothing. Name the card of the "
            "same device, such as /dev/dri/card0.",
        EACCES);
  const std::string driver(version->name, static_cast<std::size_t>(version->name_len));
  // first, while this open file is the master: else the other one would become it for a moment
  UniqueFd memory_fd = open_memory_file(fd.get());
  std::shared_ptr<Device> device(new Device(std::move(fd), std::move(memory_fd), path, driver));
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
  const BusDevice device = find_bus_device(node_);
  const std::string id = device.name.empty() ? read_bus_id(fd()) : device.bus + ":" + device.name;
  return id == request.bus_id || id == "pci:" + request.bus_id ||
         (!device.name.empty() && device.name == request.bus_id);
}

int Device::become_master() const
{
  if (!drmIsMaster(fd()) && drmSetMaster(fd()) != 0)
    return errno;
  authenticate_memory();
  return 0;
}

// Before Linux 5.3 a file that is neither master nor root's imports dma-bufs where a master vouches
// for it alone (drm_ioctl.c, DRM_AUTH of PRIME_FD_TO_HANDLE).
void Device::authenticate_memory() const
{
  drm_magic_t magic = 0;
  if (memory_fd_ && drmGetMagic(memory_fd_.get(), &magic) == 0)
    drmAuthMagic(fd(), magic); // may fail: newer kernels do not ask
}

Result<void> Device::require_master() const
{
  const int error = become_master();
  if (error == 0)
    return {};
  if (path_.empty())
    return device_error(
        "The descriptor given in fd is not master of " + driver_ +
            " and cannot become it: SET_MASTER: " + errno_text(error) +
            ". Another program holds the display: take the descriptor from the session's "
            "owner (logind's TakeDevice while the session is active, or a DRM lease).",
        error);
  return device_error("Another program holds the display of " + name_ + ": SET_MASTER: " +
                          errno_text(error) + ". Stop that compositor or sink (`fuser -v " + path_ +
                          "`, as root, names it), switch to a free virtual terminal, show in a "
                          "window of it with waylandsink or glimagesink, or pass a descriptor "
                          "that is master in fd, such as a DRM lease from it.",
                      error);
}

bool Device::lease_holds() const
{
  if (!lease_ && !file_is_lent())
    return true;
  // of a file that is no lease, the list has every object (drm_lease.c, drm_mode_get_lease_ioctl())
  const std::unique_ptr<drmModeObjectListRes, DrmDeleter<drmFree>> objects(drmModeGetLease(fd()));
  return objects ? objects->count > 0 : !lease_;
}

Error Device::revoked() const
{
  return device_error("The " + std::string(lease_ ? "" : "lease in ") + name_ +
                          " was revoked by its owner. Ask for another lease, and start again.",
                      ENODEV);
}

} // namespace gstdrm::kms
