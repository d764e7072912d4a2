// SPDX-License-Identifier: LGPL-2.1-or-later
// One open KMS device node with the client capabilities that atomic KMS needs. Shared by everything
// that makes objects on it and by every sink of the process that shows on it, since only one
// descriptor can be master; closed with the last of them. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <sys/types.h>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "kms_event_loop.hpp"
#include "kms_hotplug.hpp"
#include "kms_reservation.hpp"

namespace gstdrm::kms {

inline constexpr const char *kNoDeviceHint =
    "Load a display driver (modprobe vkms makes a virtual one), or name a device with "
    "driver-name, bus-id, device or fd.";

// Which device to open. A device has to match every field that is not empty. Where all are empty,
// the first device with a connected output is opened of which no other program is master.
struct DeviceRequest {
  std::string driver_name; // as drmGetVersion() says: "vkms", "i915"
  std::string bus_id;      // "pci:0000:00:02.0"; "0000:00:02.0" is read too
  std::string path;        // "/dev/dri/card1"
  int fd = -1;             // borrowed: dup'ed, so that its master rights are shared
  std::string lease;       // "HDMI-A-1,DP-1": only these connectors, leased from the device above
};

class Device;

// Which connectors were probed since the last hotplug event of their device: what the kernel knows
// of those still holds. A probe asks the display over the cable, which takes tenths of a second.
// Any thread.
class ProbeLog {
public:
  explicit ProbeLog(dev_t node) : uevents_(node) {}
  // The number of hotplug events so far, for the two below. Asked before a probe.
  [[nodiscard]] std::uint64_t events();
  [[nodiscard]] bool was_probed(std::uint32_t connector_id, std::uint64_t events) const;
  void probed(std::uint32_t connector_id, std::uint64_t events);

private:
  mutable OrderedMutex lock_{kLeafLockRank, "ProbeLog::lock_"}; // guards everything below
  UeventSocket uevents_;
  std::uint64_t events_ = 1;
  std::map<std::uint32_t, std::uint64_t> probed_; // connector to the number of events by then
};

// Which framebuffer ids this process has made on a device, and when. The kernel gives the lowest id
// that is free (drm_mode_object.c, drm_mode_object_add()), so that an id that was read earlier may
// stand for something else by now. Any thread.
class FramebufferLog {
public:
  void made(std::uint32_t id)
  {
    const std::lock_guard guard(lock_);
    made_[id] = ++count_;
  }
  // For made_since().
  [[nodiscard]] std::uint64_t count() const
  {
    const std::lock_guard guard(lock_);
    return count_;
  }
  // Whether the id was given to this process after count() was asked.
  [[nodiscard]] bool made_since(std::uint32_t id, std::uint64_t count) const
  {
    const std::lock_guard guard(lock_);
    const auto it = made_.find(id);
    return it != made_.end() && it->second > count;
  }

private:
  mutable OrderedMutex lock_{kLeafLockRank, "FramebufferLog::lock_"}; // guards the two below
  std::uint64_t count_ = 0;
  std::map<std::uint32_t, std::uint64_t> made_; // as many as were alive at once: ids come again
};

// GEM handles of imported dma-bufs. The kernel gives the same handle each time the same dma-buf is
// imported on one open device (drm_prime.c), so handles are counted here and closed once.
class HandleTable {
public:
  // `closes_handles`: nobody else has handles on this open file. On an application's open file an
  // import may return a handle of the application's, which is not ours to close.
  HandleTable(int drm_fd, bool closes_handles) noexcept
      : drm_fd_(drm_fd), closes_handles_(closes_handles)
  {
  }
  HandleTable(const HandleTable &) = delete;
  HandleTable &operator=(const HandleTable &) = delete;

  // PRIME_FD_TO_HANDLE on first use. Each success is paired with one release().
  Result<std::uint32_t> acquire(const BufferIdentity &identity, int dmabuf_fd);
  void release(const BufferIdentity &identity) noexcept;

private:
  struct Entry {
    std::uint32_t handle = 0;
    unsigned users = 0;
  };
  int drm_fd_; // borrowed from the Device that owns this table
  bool closes_handles_;
  // Guards entries_, and keeps import and close of one handle in order.
  OrderedMutex lock_{90, "HandleTable::lock_"};
  std::map<BufferIdentity, Entry> entries_;
};

// A plane that a sink of this process shows on beside another program, among the sinks of all
// processes that open the same node. Given back when destroyed, and by the kernel with the process.
class PlaneLock {
public:
  PlaneLock() noexcept = default;
  PlaneLock(const PlaneLock &) = delete;
  PlaneLock &operator=(const PlaneLock &) = delete;
  ~PlaneLock() { unlock(); }
  // false: a sink of another process shows on the plane.
  [[nodiscard]] bool lock(std::shared_ptr<const Device> device, std::uint32_t plane_id);
  void unlock() noexcept;

private:
  std::shared_ptr<const Device> device_; // null: not locked
  std::uint32_t plane_id_ = 0;
};

// The lease of a leased device. The lessor's device stays master, and the leased objects stay
// reserved on it.
struct Lease {
  std::shared_ptr<Device> lessor;
  std::vector<Reservation> reservations; // given back before the lessor goes
  std::string connectors;                // as asked for
};

// An open KMS device; Registry::open() makes them.
class Device {
public:
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;
  ~Device();

  // For modes, commits and events: this open file is master, or was asked to become it.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  // For memory: GEM handles, dumb buffers and framebuffers. An open file of this process that is
  // never master, so that whoever duplicates it does not keep the display, and so that no handle on
  // it is anybody else's (handles belong to the open file, drm_gem.c; framebuffers are found by
  // every master of the device, drm_mode_object.c). The same as fd() where the node cannot be
  // opened.
  [[nodiscard]] int memory_fd() const noexcept { return memory_fd_ ? memory_fd_.get() : fd_.get(); }
  // "/dev/dri/card0 (vkms)"
  [[nodiscard]] const std::string &name() const noexcept { return name_; }
  [[nodiscard]] const std::string &driver() const noexcept { return driver_; }
  // The application has this open file too, and reads the events of its own commits from it: a
  // reader of ours would take them.
  [[nodiscard]] bool file_is_lent() const noexcept { return path_.empty() && !lease_; }
  // false: AddFB2 takes no modifiers, every framebuffer is implicit
  [[nodiscard]] bool takes_modifiers() const noexcept { return takes_modifiers_; }
  [[nodiscard]] HandleTable &handles() noexcept { return handles_; }
  // Those that this process has made on memory_fd().
  [[nodiscard]] FramebufferLog &framebuffers() noexcept { return framebuffers_; }
  [[nodiscard]] const FramebufferLog &framebuffers() const noexcept { return framebuffers_; }
  [[nodiscard]] EventHub &events() noexcept { return events_; }
  [[nodiscard]] ReservationTable &reservations() noexcept { return reservations_; }
  [[nodiscard]] dev_t node() const noexcept { return node_; }
  [[nodiscard]] ProbeLog &probes() noexcept { return probes_; }

  // Of an application's open file it is asked for where the sink takes an output for itself: the
  // application's own lists of connectors get longer by it.
  void list_writeback_connectors() const;
  // Asks for the right to set modes. Returns 0 if this descriptor has it; else an errno.
  [[nodiscard]] int become_master() const;
  // Error unless this descriptor may set modes now: it names who else is in the way.
  Result<void> require_master() const;
  // false: the device is a lease that its lessor has revoked, one of ours or the application's.
  [[nodiscard]] bool lease_holds() const;
  // The error where lease_holds() is false.
  [[nodiscard]] Error revoked() const;

private:
  friend class Registry;
  Device(UniqueFd fd, UniqueFd memory_fd, std::string path, std::string driver);
  static Result<std::shared_ptr<Device>> adopt(UniqueFd fd, const std::string &path);
  static Result<std::shared_ptr<Device>> open_path(const std::string &path);
  Result<void> set_client_caps();
  void authenticate_memory() const;
  void list_everything() const; // of an open file that nobody else has
  [[nodiscard]] bool matches(const DeviceRequest &request) const;

  std::unique_ptr<Lease> lease_; // goes after fd_: closing that ends the lease
  UniqueFd fd_;
  UniqueFd memory_fd_;
  dev_t node_ = 0; // of the device node: st_rdev
  ProbeLog probes_;
  std::function<void(const Device &)>
      on_closed_;    // set by the registry; the descriptor is closed by then
  std::string path_; // empty: opened by descriptor
  std::string driver_;
  std::string name_;
  bool takes_modifiers_ = false;
  HandleTable handles_;
  FramebufferLog framebuffers_;
  ReservationTable reservations_;
  EventHub events_;
};

} // namespace gstdrm::kms
