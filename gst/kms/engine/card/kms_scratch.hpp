// SPDX-License-Identifier: LGPL-2.1-or-later
// Framebuffers for test commits of a format, before there is a frame of it. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/core/frame_layout.hpp>

#include "kms_device.hpp"

namespace gstdrm::kms {

// How a framebuffer of the pair can lie in any memory: linear, implicit and known tilings, with
// strides and offsets that are multiples of all that display hardware is known to ask for. Nothing
// for other layouts: only their allocators know how large they are. `size_bytes` gets the total.
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
  // Nothing: no pair of these has a layout, or the device has no memory.
  static std::unique_ptr<ScratchBuffer> create(const std::shared_ptr<Device> &device,
                                               const FormatSet &pairs, std::uint32_t width,
                                               std::uint32_t height);
  ScratchBuffer(const ScratchBuffer &) = delete;
  ScratchBuffer &operator=(const ScratchBuffer &) = delete;
  ~ScratchBuffer();

  // Nothing: the pair has no layout here, or the device does not take it, which says nothing about
  // the pair.
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
