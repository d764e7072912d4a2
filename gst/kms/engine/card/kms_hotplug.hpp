// SPDX-License-Identifier: LGPL-2.1-or-later
// The thread that notices that a display is plugged in or unplugged, or that the device is removed.
//
// It reads the kernel's own uevents (NETLINK_KOBJECT_UEVENT, group 1), which every user may receive
// without a udev daemon; udevd only repeats them later. Uevents do not reach a container that has a
// user namespace of its own (kobject_uevent.c, uevent_net_init()). There the thread probes the
// connector every kPollInterval.
#pragma once

#include <chrono>
#include <memory>

#include <sys/types.h>

#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>

namespace gstdrm::kms {

class HotplugHandler {
public:
  virtual ~HotplugHandler() = default;
  // Of HotplugMonitor::start(), by its caller: events from now on are kept for the thread, which
  // does not run yet, so that what is found here is not newer than what an event tells later.
  virtual void on_begin() noexcept {}
  // Connectors or leases of the device have changed, or may have changed: read them again.
  virtual void on_hotplug() noexcept = 0;
  // The device node is gone; the thread ends.
  virtual void on_device_removed() noexcept = 0;
  // HotplugMonitor::wake() was called.
  virtual void on_woken() noexcept {}
};

// The meaning of one uevent for a device.
enum class Uevent { Other, Changed, Removed };
// `text` is "ACTION@DEVPATH", a zero and "KEY=VALUE" strings, each with its zero.
Uevent read_uevent(const char *text, std::size_t size, dev_t node);

// The uevents of one device, read by one thread at a time.
class UeventSocket {
public:
  explicit UeventSocket(dev_t node);
  // -1: uevents do not come here.
  [[nodiscard]] int fd() const noexcept { return fd_ ? fd_.get() : -1; }
  // What the events say that have arrived since the last call, without sleeping. Changed where some
  // were lost, and where none come here.
  Uevent read();

private:
  dev_t node_;
  UniqueFd fd_; // empty: none come
};

class HotplugMonitor {
public:
  static constexpr std::chrono::seconds kPollInterval{2};

  // `node` is the device node's st_rdev; `handler` is borrowed and outlives the monitor.
  static Result<std::unique_ptr<HotplugMonitor>> start(dev_t node, HotplugHandler &handler);
  HotplugMonitor(const HotplugMonitor &) = delete;
  HotplugMonitor &operator=(const HotplugMonitor &) = delete;
  // OwnThread::stop()
  ~HotplugMonitor();
  // Has the thread call on_woken() soon; once for several calls that come before it does. Any
  // thread; does not sleep.
  void wake() noexcept;

private:
  class Watch; // what the thread uses, which may outlive the monitor
  explicit HotplugMonitor(std::shared_ptr<Watch> watch);

  std::shared_ptr<Watch> watch_;
};

} // namespace gstdrm::kms
