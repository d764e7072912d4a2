// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes framebuffers of a format for test commits, before there is a frame of that format. One
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/core/frame_layout.hpp>

#include "kms_device.hpp"

namespace gstdrm::kms {

// A layout with which a framebuffer of the pair can be made in any memory, for linear, implicit and
// known tiled pairs. Its strides and offsets are multiples of everything that display hardware is
// known to require. Nothing for other pairs, whose size only their allocators know. `size_bytes`
// gets the total size.
std::optional<FrameLayout> scratch_layout(Format format, std::uint32_t width, std::uint32_t height,
                                          std::uint64_t &size_bytes);

class ScratchFramebuffer {
public:
  ScratchFramebuffer(int drm_fd, std::uint32_t id) noexcept : drm_fd_(drm_fd), id_(id) {}
  ScratchFramebuffer(ScratchFramebuffer &&other) noexcept;
  ScratchFramebuffer &operator=(ScratchFramebuffer &&) = delete;
  ~ScratchFramebuffer();
  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }

private:
  int drm_fd_; // borrowed
  std::uint32_t id_;
};

// One dumb buffer with room for every pair of a set; its contents are never shown.
class ScratchBuffer {
public:
  // Nothing: scratch_layout() knows none of the pairs, or the device has no memory.
  static std::unique_ptr<ScratchBuffer> create(const std::shared_ptr<Device> &device,
                                               const FormatSet &pairs, std::uint32_t width,
                                               std::uint32_t height);
  ScratchBuffer(const ScratchBuffer &) = delete;
  ScratchBuffer &operator=(const ScratchBuffer &) = delete;
  ~ScratchBuffer();

  // Nothing: the pair has no known layout, or the device refuses this framebuffer, which does not
  // mean that it refuses every framebuffer of the pair.
  [[nodiscard]] std::optional<ScratchFramebuffer> framebuffer(Format format) const;

private:
  ScratchBuffer(std::shared_ptr<Device> device, std::uint32_t width, std::uint32_t height)
      : device_(std::move(device)), width_(width), height_(height)
  {
  }

  std::shared_ptr<Device> device_;
  std::uint32_t width_;
  std::uint32_t height_;
  std::uint32_t handle_ = 0;
};

} // namespace gstdrm::kms
