// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_registry.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include <gst/drm/core/drm_node.hpp>

#include "engine/card/kms_objects.hpp"
#include "kms_choice.hpp"

namespace gstdrm::kms {

namespace {

std::string describe(const DeviceRequest &request)
{
  std::string text;
  if (!request.driver_name.empty())
    text += " with driver-name=" + request.driver_name;
  if (!request.bus_id.empty())
    text += " with bus-id=" + request.bus_id;
  return text;
}

// What a card has for a sink that names none, the best last.
enum class Prospect {
  None,
  Unknown,  // a connector whose state the driver cannot tell: VGA, composite
  Mastered, // perhaps a display, and another program is master
  InUse,    // a display that sinks of this process have chosen
  Crowded,  // a free display, and no CRTC or plane for it
  Free,     // a free display
};

struct Connectors {
  bool has_free = false, has_used = false; // connected
  bool has_unprobed = false, has_unknown = false;
};

// As far as the kernel knows them.
Connectors look_at_connectors(Device &device)
{
  Connectors found;
  const ResPtr res(drmModeGetResources(device.fd()));
  PropertyReader reader(device.fd());
  for (int i = 0; res && i < res->count_connectors; i++) {
    const Result<Connector> connector =
        read_connector(device, res->connectors[i], reader, Probe::Never);
    if (!connector || connector->writeback || connector->is_non_desktop())
      continue;
    const bool is_used = device.reservations().contains(connector->id);
    const bool is_unknown = connector->connection == DRM_MODE_UNKNOWNCONNECTION;
    (is_used ? found.has_used : found.has_free) |= connector->connection == DRM_MODE_CONNECTED;
    (connector->modes.empty() ? found.has_unprobed : found.has_unknown) |= is_unknown;
  }
  return found;
}

Prospect prospect_of(Device &device)
{
  Connectors found = look_at_connectors(device);
  if (found.has_free || found.has_unprobed) {
    if (device.become_master() != 0)
      return Prospect::Mastered;
    // as the master, because the kernel probes for nobody else
    const Result<OutputChoice> choice = reserve_output(device, {});
    if (choice && !choice->is_shared && choice->output.connector.connection == DRM_MODE_CONNECTED)
      return Prospect::Free;
    found = look_at_connectors(device);
    if (found.has_free)
      return Prospect::Crowded;
  }
  return found.has_used ? Prospect::InUse : found.has_unknown ? Prospect::Unknown : Prospect::None;
}

std::vector<std::string> split(const std::string &list)
{
  std::vector<std::string> names;
  std::istringstream stream(list);
  for (std::string name; std::getline(stream, name, ',');)
    if (!name.empty())
      names.push_back(name);
  return names;
}

bool lacks_descriptor(int sys_errno)
{
  return sys_errno == EMFILE || sys_errno == ENFILE;
}

// Whether the process can open nothing more, so that a folder that seems empty may not be: 0, or
// the errno.
int missing_descriptor()
{
  const UniqueFd any(open("/", O_PATH | O_CLOEXEC));
  const int error = errno;
  return !any && lacks_descriptor(error) ? error : 0;
}

} // namespace

Registry &Registry::get()
{
  static const auto registry = std::make_shared<Registry>();
  return *registry;
}

// Waits until the descriptors of the node are closed whose devices have no users, because these
// are still master.
template <typename Matches>
Registry::DevicePtr Registry::find(Opening &opening, dev_t node, Matches matches)
{
  while (true) {
    bool is_closing = false;
    for (const Entry &entry : entries_) {
      const DevicePtr device = entry.owner.lock();
      is_closing |= !device && entry.node == node;
      if (!device)
        continue;
      opening.looked_at.push_back(device);
      if (matches(*device))
        return device;
    }
    if (!is_closing)
      return nullptr;
    forgotten_.wait(opening.guard);
  }
}

void Registry::add(const DevicePtr &device)
{
  device->on_closed_ = [registry = shared_from_this()](const Device &closed) {
    registry->forget(closed);
  };
  entries_.push_back({device.get(), device, device->node()});
}

void Registry::forget(const Device &device) noexcept
{
  const std::lock_guard guard(lock_);
  std::erase_if(entries_, [&](const Entry &entry) { return entry.device == &device; });
  forgotten_.notify_all();
}

Result<Registry::DevicePtr> Registry::open_fd(int fd, Opening &opening)
{
  UniqueFd own = UniqueFd::dup(fd);
  const int error = errno;
  if (!own)
    return device_error("fd=" + std::to_string(fd) + " is not an open descriptor: " +
                            errno_text(error) + ". Pass an open KMS device.",
                        error);
  const auto shared = [&](const Device &device) { return same_file(device.fd(), own.get()); };
  struct stat status {};
  (void)fstat(own.get(), &status); // Device::adopt() refuses what is no device
  if (DevicePtr device = find(opening, status.st_rdev, shared))
    return device;
  return Device::adopt(std::move(own), "");
}

Result<Registry::DevicePtr> Registry::open_path(const std::string &path, Opening &opening)
{
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && S_ISCHR(status.st_mode)) {
    const auto shared = [&](const Device &device) {
      return device.node() == status.st_rdev && !device.lease_;
    };
    if (DevicePtr device = find(opening, status.st_rdev, shared))
      return device;
  }
  return Device::open_path(path);
}

Result<Registry::DevicePtr> Registry::search(const DeviceRequest &request, Opening &opening)
{
  const std::vector<std::string> cards = list_drm_nodes(DrmNodeType::Card);
  DevicePtr best; // where it has no free display, the caller says what is in the way
  Prospect best_prospect = Prospect::None;
  std::string looked_at;
  bool denied = false;
  int lack = cards.empty() ? missing_descriptor() : 0;
  for (const std::string &path : cards) {
    Result<DevicePtr> device = open_path(path, opening);
    if (!device) {
      if (lacks_descriptor(device.error().sys_errno))
        lack = device.error().sys_errno;
      denied |= device.error().sys_errno == EACCES || device.error().sys_errno == EPERM;
      looked_at += " " + device.error().message;
      continue;
    }
    if (!(*device)->matches(request)) {
      looked_at += " " + (*device)->name() + " is another one.";
      continue;
    }
    const Prospect prospect = prospect_of(**device);
    if (best && prospect <= best_prospect)
      continue;
    best = *device;
    best_prospect = prospect;
    if (prospect == Prospect::Free)
      break;
  }
  if (best)
    return best;
  if (lack)
    return device_error("No KMS device" + describe(request) +
                            " can be looked for: " + errno_text(lack) + "." + looked_at,
                        lack);
  if (cards.empty())
    looked_at = std::string(" There is no /dev/dri/card*. ") + kNoDeviceHint;
  return device_error("No KMS device" + describe(request) + " was found." + looked_at,
                      denied ? EACCES : ENODEV);
}

// The lease's connectors, each with a CRTC, its planes and its writeback connector.
Result<Registry::DevicePtr> Registry::open_lease(const DevicePtr &lessor,
                                                 const std::string &connectors, Opening &opening)
{
  const auto shared = [&](const Device &device) {
    return device.lease_ && device.lease_->lessor == lessor &&
           device.lease_->connectors == connectors;
  };
  if (DevicePtr device = find(opening, lessor->node(), shared))
    return device;
  if (Result<void> master = lessor->require_master(); !master)
    return master.error();
  auto lease = std::make_unique<Lease>();
  lease->lessor = lessor;
  lease->connectors = connectors;
  std::vector<std::uint32_t> objects;
  for (const std::string &name : split(connectors)) {
    Result<OutputChoice> choice = reserve_output(*lessor, OutputRequest{name, 0});
    if (!choice)
      return choice.error();
    if (Result<void> taken = take_output(*lessor, choice->reservation, choice->output); !taken)
      return taken.error();
    const std::vector<std::uint32_t> &ids = choice->reservation.ids();
    objects.insert(objects.end(), ids.begin(), ids.end());
    lease->reservations.push_back(std::move(choice->reservation));
  }
  std::uint32_t lessee = 0;
  const int fd = drmModeCreateLease(lessor->fd(), objects.data(), static_cast<int>(objects.size()),
                                    O_CLOEXEC, &lessee);
  if (fd < 0)
    return device_error(lessor->name() + " leases no " + connectors + ": CREATE_LEASE of " +
                            std::to_string(objects.size()) + " objects: " + errno_text(-fd) +
                            ". Are its connectors leased to another program?",
                        -fd);
  Result<DevicePtr> device = Device::adopt(UniqueFd(fd), "");
  if (!device)
    return device;
  (*device)->lease_ = std::move(lease); // it is no application's file
  (*device)->list_everything();
  (*device)->name_ =
      "lease " + std::to_string(lessee) + " (" + connectors + ") of " + lessor->name();
  add(*device);
  return device;
}

// A device that was given by its descriptor or its path, and by another property as well.
Result<void> Registry::check_same(const Device &device, const DeviceRequest &request)
{
  if (request.fd < 0 && request.path.empty())
    return {}; // the others have found it
  struct stat status {};
  if (request.fd >= 0 && !request.path.empty() &&
      (stat(request.path.c_str(), &status) != 0 || status.st_rdev != device.node()))
    return device_error("fd=" + std::to_string(request.fd) + " (" + device.name() +
                            ") is not device=" + request.path + ". Leave out one of the two.",
                        EINVAL);
  if (!device.matches(request))
    return device_error(device.name() + " is not the device" + describe(request) +
                            ". Leave out one of the two.",
                        EINVAL);
  return {};
}

Result<Registry::DevicePtr> Registry::open(const DeviceRequest &request)
{
  Opening opening(lock_);
  Result<DevicePtr> device = request.fd >= 0        ? open_fd(request.fd, opening)
                             : request.path.empty() ? search(request, opening)
                                                    : open_path(request.path, opening);
  if (!device)
    return device;
  opening.looked_at.push_back(*device);
  if (Result<void> same = check_same(**device, request); !same)
    return same.error();
  if (!(*device)->on_closed_)
    add(*device);
  if (!request.lease.empty())
    return open_lease(*device, request.lease, opening);
  return device;
}

namespace {

struct flock one_byte(short type, off_t at)
{
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = 1;
  return lock;
}

} // namespace

// A lock of an open file description is in the way of every other one (fcntl(2), F_OFD_SETLK). DRM
// has numbers of its own for open files, drmGetMagic(): but each lease begins anew with 1. The byte
// is one that no other process asks about at the same time.
bool same_file_by_lock(int a, int b)
{
  struct stat one {
  }, two{};
  if (fstat(a, &one) != 0 || fstat(b, &two) != 0 || one.st_dev != two.st_dev ||
      one.st_ino != two.st_ino)
    return false; // locks are of one node
  const off_t at =
      (static_cast<off_t>(getpid()) << 24) + (reinterpret_cast<std::uintptr_t>(&a) & 0xffffff);
  struct flock own = one_byte(F_WRLCK, at);
  if (fcntl(a, F_OFD_SETLK, &own) != 0)
    return a == b;
  struct flock other = one_byte(F_WRLCK, at);
  const bool same = fcntl(b, F_OFD_GETLK, &other) == 0 && other.l_type == F_UNLCK;
  own = one_byte(F_UNLCK, at);
  (void)fcntl(a, F_OFD_SETLK, &own);
  return same;
}

bool same_file(int a, int b)
{
  const pid_t self = getpid();
  const long order = syscall(SYS_kcmp, self, self, KCMP_FILE, a, b);
  return order < 0 ? same_file_by_lock(a, b) : order == 0;
}

} // namespace gstdrm::kms
