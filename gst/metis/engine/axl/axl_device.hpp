// SPDX-License-Identifier: LGPL-2.1-or-later
// An open device with the kernel interface of axl_uapi.h: one method per request, and error texts.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "axl_uapi.h"
#include "engine/device_name.hpp"

namespace gstdrm::metis {

// The path of the device's node in `directory`. An empty `name` means the device with the lowest
// address; a name with a slash is returned unchanged. Returns an Error with all names in
// `directory` if there is no such device.
Result<std::string> find_device(const std::string &name, const std::string &directory = "/dev");

// A request that the driver accepted.
struct AxlSubmission {
  UniqueFd fence;
  std::chrono::microseconds submitted{0}; // CLOCK_MONOTONIC
};

// A fence that has signalled.
struct AxlCompletion {
  int error = 0;                         // errno; 0: the result is written
  std::chrono::nanoseconds signalled{0}; // CLOCK_MONOTONIC
};

// One thread. Once the device is lost, every method except release() fails with ENODEV and makes no
// system call.
class AxlDevice {
public:
  // `name` is the `device` property. Errors: no such device, device busy or lost, or a driver with
  // another interface.
  static Result<std::shared_ptr<AxlDevice>> open(const std::string &name);

  [[nodiscard]] const std::string &name() const noexcept { return path_; }

  // Takes linear NV12 in one dma-buf. Returns a handle, which the caller releases.
  Result<std::uint32_t> import(const FrameLayout &frame);
  void release(std::uint32_t handle) noexcept;
  Result<AxlSubmission> submit(std::uint32_t handle, int result_fd, std::uint32_t model_id,
                               std::chrono::microseconds timeout);
  // Returns nullopt if the driver cannot describe models.
  Result<std::optional<axl_model_info>> query_model(std::uint32_t model_id);

  // Returns nullopt if the fence has not signalled.
  Result<std::optional<AxlCompletion>> completion(int fence_fd);
  // The Error of a request whose fence ended with `sys_errno`.
  Error failure(int sys_errno, std::chrono::milliseconds timeout);

private:
  AxlDevice(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Result<void> check_interface();
  Result<void> set_layout(std::uint32_t handle, const FrameLayout &frame);
  Error import_error(const FrameLayout &frame, int sys_errno);
  Error device_error(ErrorCode code, const std::string &what, int sys_errno);
  int request(unsigned long number, void *argument) noexcept;
  [[nodiscard]] Error lost() const;

  UniqueFd fd_;
  std::string path_;
  bool is_lost_ = false;
};

// A frame that the device has mapped; the destructor releases it.
class AxlImport {
public:
  static Result<std::shared_ptr<AxlImport>> make(const std::shared_ptr<AxlDevice> &device,
                                                 const FrameLayout &frame);
  AxlImport(std::shared_ptr<AxlDevice> device, std::uint32_t handle) noexcept
      : device_(std::move(device)), handle_(handle)
  {
  }
  AxlImport(const AxlImport &) = delete;
  AxlImport &operator=(const AxlImport &) = delete;
  ~AxlImport() { device_->release(handle_); }

  [[nodiscard]] std::uint32_t handle() const noexcept { return handle_; }

private:
  const std::shared_ptr<AxlDevice> device_;
  const std::uint32_t handle_;
};

} // namespace gstdrm::metis
