// SPDX-License-Identifier: LGPL-2.1-or-later
// The KMS devices that this process has open, so that several sinks share one descriptor: only one
// can be master. Any thread.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "kms_device.hpp"

namespace gstdrm::kms {

inline constexpr const char *kNoDeviceHint =
    "Load a display driver (modprobe vkms makes a virtual one), or name a device with "
    "driver-name, bus-id, device or fd.";

class Registry {
public:
  using DevicePtr = std::shared_ptr<Device>;

  static Registry &get();
  Result<DevicePtr> open(const DeviceRequest &request);
  // The device's descriptor is closed.
  void forget(const Device &device) noexcept;

private:
  struct Entry {
    const Device *device = nullptr; // only compared
    std::weak_ptr<Device> owner;
    int fd = -1; // the device's, only compared
    dev_t node = 0;
    std::string lease;              // empty: none
    const Device *lessor = nullptr; // only compared
  };
  template <typename Matches> DevicePtr find(std::unique_lock<std::mutex> &guard, Matches matches);
  Result<DevicePtr> open_fd(int fd, std::unique_lock<std::mutex> &guard);
  Result<DevicePtr> open_path(const std::string &path, std::unique_lock<std::mutex> &guard);
  Result<DevicePtr> search(const DeviceRequest &request, std::unique_lock<std::mutex> &guard);
  Result<DevicePtr> open_lease(const DevicePtr &lessor, const std::string &connectors,
                               std::unique_lock<std::mutex> &guard);
  void add(const DevicePtr &device);

  std::mutex lock_; // guards entries_; held while a device is opened
  std::condition_variable forgotten_;
  std::vector<Entry> entries_; // weak: a device lives as long as its users
  // Devices looked at and not chosen: they may be others' last share, so they go after the lock.
  std::vector<DevicePtr> *looked_at_ = nullptr;
};

} // namespace gstdrm::kms
