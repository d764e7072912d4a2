// SPDX-License-Identifier: LGPL-2.1-or-later
// A DRM node opened with libva.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <va/va.h>

#include <gst/drm/core/result.hpp>

namespace gstdrm::va {

// Prefix of libva's messages in the log, at DEBUG: they name the driver's file.
inline constexpr char kLibvaSays[] = "libva: ";

// One element's reference to an initialised VADisplay, with its own counters. Any thread.
class Display {
public:
  static Result<std::shared_ptr<Display>> open(const std::string &node);
  // A foreign display, which stays initialised while `owner` lives and is not terminated here.
  // ErrorCode::Device if it is invalid, or of another device than `node`; an empty `node` allows
  // any device.
  static Result<std::shared_ptr<Display>> adopt(VADisplay display, const std::string &node,
                                                std::shared_ptr<void> owner);
  // The same VADisplay for another element, with new counters.
  [[nodiscard]] std::shared_ptr<Display> share() const;
  Display(const Display &) = delete;
  Display &operator=(const Display &) = delete;
  ~Display() = default;

  [[nodiscard]] VADisplay get() const noexcept { return display_; }
  // Like get(), and counts the libva call that the display is passed to.
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
  // Logs the call with the status's name (VA_STATUS_ERROR_ALLOCATION_FAILED). The text also says if
  // the node has gone.
  [[nodiscard]] Error error(ErrorCode code, const char *call, VAStatus status) const;
  // Returns true if a node, or a link to one, is of the same device, such as its card.
  [[nodiscard]] bool is_of(const std::string &node) const;
  // Returns true if the node no longer exists, or is of another device.
  [[nodiscard]] bool has_gone() const;

private:
  explicit Display(std::string node) : node_(std::move(node)) {}
  Result<void> initialise();
  void read_vendor();

  std::string node_;
  std::string vendor_;
  std::string messages_;        // of libva while it is initialised
  std::shared_ptr<void> owner_; // keeps the VADisplay initialised
  VADisplay display_ = nullptr;
  std::uint64_t device_number_ = 0;
  std::atomic<std::uint64_t> calls_{0};
};

} // namespace gstdrm::va
