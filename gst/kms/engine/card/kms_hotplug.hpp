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
#include <thread>

#include <sys/types.h>

#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/core/wake_fd.hpp>

namespace gstdrm::kms {

class HotplugHandler {
public:
  virtual ~HotplugHandler() = default;
  // Connectors or leases of the device have changed, or may have changed: read them again.
  virtual void on_hotplug() noexcept = 0;
  // The device node is gone; the thread ends.
  virtual void on_device_removed() noexcept = 0;
};

// The meaning of one uevent for a device.
enum class Uevent { Other, Changed, Removed };
// `text` is "ACTION@DEVPATH", a zero and "KEY=VALUE" strings, each with its zero.
Uevent read_uevent(const char *text, std::size_t size, dev_t node);

class HotplugMonitor {
public:
  static constexpr std::chrono::seconds kPollInterval{2};

  // `node` is the device node's st_rdev; `handler` is borrowed and outlives the monitor.
  static Result<std::unique_ptr<HotplugMonitor>> start(dev_t node, HotplugHandler &handler);
  HotplugMonitor(const HotplugMonitor &) = delete;
  HotplugMonitor &operator=(const HotplugMonitor &) = delete;
  ~HotplugMonitor(); // joins; never from the thread itself

private:
  HotplugMonitor(dev_t node, HotplugHandler &handler, WakeFd quit, UniqueFd uevent_fd)
      : node_(node), handler_(handler), quit_(std::move(quit)),
        uevent_fd_(std::move(uevent_fd))
  {
  }
  void run() noexcept;
  bool look() noexcept;
  bool read_events();
  bool poll_device();

  dev_t node_;
  HotplugHandler &handler_;
  WakeFd quit_; // readable: end
  UniqueFd uevent_fd_; // empty: poll
  std::thread thread_;
};

} // namespace gstdrm::kms
