// SPDX-License-Identifier: LGPL-2.1-or-later
// A DRM node opened with libva.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <va/va.h>

#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>

namespace gstdrm::va {

// Owns the descriptor and the VADisplay on it. Any thread.
class Display {
public:
  static Result<std::shared_ptr<Display>> open(const std::string &node);
  Display(const Display &) = delete;
  Display &operator=(const Display &) = delete;
  ~Display();

  [[nodiscard]] VADisplay get() const noexcept { return display_; }
  // As get(), and counts the libva call for which the display is passed.
  [[nodiscard]] VADisplay count() noexcept
  {
    calls_.fetch_add(1, std::memory_order_relaxed);
    return display_;
  }
  [[nodiscard]] std::uint64_t calls() const noexcept
  {
    return calls_.load(std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> surfaces{0}; // created since it was opened
  std::atomic<std::uint64_t> exports{0};
  [[nodiscard]] const std::string &node() const noexcept { return node_; }
  [[nodiscard]] const std::string &vendor() const noexcept { return vendor_; }
  // st_rdev of the node
  [[nodiscard]] std::uint64_t device_number() const noexcept { return device_number_; }

  // "vaCreateSurfaces on /dev/dri/renderD128 (Mesa Gallium …): resource allocation failed (0x2)".
  // Logs the call with the status's name (VA_STATUS_ERROR_ALLOCATION_FAILED).
  [[nodiscard]] Error error(ErrorCode code, const char *call, VAStatus status) const;

private:
  explicit Display(std::string node) : node_(std::move(node)) {}
  Result<void> initialise();

  std::string node_;
  std::string vendor_;
  std::string messages_; // what libva said, until it is initialised
  UniqueFd fd_;
  VADisplay display_ = nullptr;
  std::uint64_t device_number_ = 0;
  std::atomic<std::uint64_t> calls_{0};
};

} // namespace gstdrm::va
