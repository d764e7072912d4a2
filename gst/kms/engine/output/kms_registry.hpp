// SPDX-License-Identifier: LGPL-2.1-or-later
// The KMS devices that this process has open, so that several sinks share one descriptor: only one
// can be master. Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/result.hpp>

#include "engine/card/kms_device.hpp"

namespace gstdrm::kms {

class Registry : public std::enable_shared_from_this<Registry> {
public:
  using DevicePtr = std::shared_ptr<Device>;

  static Registry &get();
  // A device that the process has open already is shared.
  Result<DevicePtr> open(const DeviceRequest &request);

private:
  // One call of open(). It may hold the last share of a device that it looked at and did not
  // choose; a device that goes takes the registry's lock, so these shares are dropped after the
  // lock.
  struct Opening {
    explicit Opening(OrderedMutex &lock) : guard(lock) {}
    std::vector<DevicePtr> looked_at;
    std::unique_lock<OrderedMutex> guard;
  };
  struct Entry {
    const Device *device = nullptr; // only compared
    std::weak_ptr<Device> owner;    // empty while the device is being closed
    dev_t node = 0;
  };
  template <typename Matches> DevicePtr find(Opening &opening, dev_t node, Matches matches);
  Result<DevicePtr> open_fd(int fd, Opening &opening);
  Result<DevicePtr> open_path(const std::string &path, Opening &opening);
  Result<DevicePtr> search(const DeviceRequest &request, Opening &opening);
  static Result<void> check_same(const Device &device, const DeviceRequest &request);
  Result<DevicePtr> open_lease(const DevicePtr &lessor, const std::string &connectors,
                               Opening &opening);
  void add(const DevicePtr &device);
  void forget(const Device &device) noexcept;

  // Guards entries_. Held while a device is opened.
  OrderedMutex lock_{32, "Registry::lock_"};
  OrderedCondition forgotten_;
  // Weak: a device lives as long as its users. Each keeps the registry in turn, since a thread that
  // nobody waits for may close the last one while the process ends.
  std::vector<Entry> entries_;
};

// Whether two descriptors are one open file, as after dup(): of DRM devices they are one client
// then. Any thread, but one at a time.
bool same_file(int a, int b);
// The same without kcmp(2), which containers forbid (Docker's seccomp profile).
bool same_file_by_lock(int a, int b);

} // namespace gstdrm::kms
