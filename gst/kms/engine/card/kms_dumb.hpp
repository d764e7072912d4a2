// SPDX-License-Identifier: LGPL-2.1-or-later
// A dumb buffer with its framebuffer, for pictures that are not frames of the stream: the black
// background, the cursor, overlays, and the buffer that writeback fills. And memory in which
// framebuffers of any format are made for test commits, before there is a frame of that format. One
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/result.hpp>

#include "kms_framebuffer.hpp"

namespace gstdrm::kms {

// 32 bits per pixel. Zeroed by the kernel when it is made (drm_mode_create_dumb(): required of
// every driver).
class DumbBuffer {
public:
  static Result<std::unique_ptr<DumbBuffer>> create(const std::shared_ptr<Device> &device,
                                                    std::uint32_t fourcc, std::uint32_t width,
                                                    std::uint32_t height);
  DumbBuffer(const DumbBuffer &) = delete;
  DumbBuffer &operator=(const DumbBuffer &) = delete;
  ~DumbBuffer();

  [[nodiscard]] std::uint32_t framebuffer_id() const noexcept { return framebuffer_.get(); }
  [[nodiscard]] std::uint32_t width() const noexcept { return width_; }
  [[nodiscard]] std::uint32_t height() const noexcept { return height_; }
  // The kernel's framebuffer keeps the memory.
  bool leave_on_screen(bool file_stays)
  {
    return kms::leave_on_screen(*device_, framebuffer_, file_stays);
  }
  // Reads the picture: rows without padding, 4 bytes per pixel.
  [[nodiscard]] Result<std::vector<std::uint8_t>> read() const;

  // The memory, mapped for writing until the buffer is destroyed. Rows are stride_bytes() apart. By
  // one thread.
  Result<std::uint8_t *> keep_mapped();
  [[nodiscard]] std::uint32_t stride_bytes() const noexcept { return stride_bytes_; }

  // Writes a picture into the top left corner. `pixels` are rows without padding, 4 bytes per
  // pixel.
  Result<void> write(const std::vector<std::uint8_t> &pixels, std::uint32_t width,
                     std::uint32_t height);

private:
  friend class ScratchBuffer;
  explicit DumbBuffer(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  Result<std::uint8_t *> map(int protection) const;
  // 0 or a negative errno: the memory; memory and framebuffer.
  int allocate(std::uint32_t width, std::uint32_t height);
  int make(std::uint32_t fourcc, std::uint32_t width, std::uint32_t height);

  std::shared_ptr<Device> device_;
  std::uint32_t handle_ = 0;
  FramebufferId framebuffer_;
  std::uint32_t width_ = 0;
  std::uint32_t height_ = 0;
  std::uint32_t stride_bytes_ = 0;
  std::uint64_t size_bytes_ = 0;
  std::uint8_t *mapped_ = nullptr; // by keep_mapped()
};

// A layout with which a framebuffer of the pair can be made in any memory, for linear, implicit and
// known tiled pairs. Its strides and offsets are multiples of everything that display hardware is
// known to require. Nothing for other pairs, whose size only their allocators know. `size_bytes`
// gets the total size.
std::optional<FrameLayout> scratch_layout(Format format, std::uint32_t width, std::uint32_t height,
                                          std::uint64_t &size_bytes);

// One dumb buffer with room for every pair of a set; its contents are never shown.
class ScratchBuffer {
public:
  // Returns nullptr if scratch_layout() knows none of the pairs, or the device has no memory.
  static std::unique_ptr<ScratchBuffer> create(const std::shared_ptr<Device> &device,
                                               const FormatSet &pairs, std::uint32_t width,
                                               std::uint32_t height);
  // Returns nullopt if the pair has no known layout, or the device refuses this framebuffer, which
  // does not mean that it refuses every framebuffer of the pair.
  [[nodiscard]] std::optional<FramebufferId> framebuffer(Format format) const;

private:
  ScratchBuffer(std::shared_ptr<Device> device, std::uint32_t width, std::uint32_t height)
      : memory_(std::move(device)), width_(width), height_(height)
  {
  }

  DumbBuffer memory_; // without a framebuffer of its own
  std::uint32_t width_;
  std::uint32_t height_;
};

} // namespace gstdrm::kms
