// SPDX-License-Identifier: LGPL-2.1-or-later
// A dumb buffer with its framebuffer, for pictures that are not frames of the stream: the black
// background, the cursor, overlays, and the buffer that writeback fills.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "kms_device.hpp"

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

  [[nodiscard]] std::uint32_t framebuffer_id() const noexcept { return framebuffer_id_; }
  [[nodiscard]] std::uint32_t width() const noexcept { return width_; }
  [[nodiscard]] std::uint32_t height() const noexcept { return height_; }
  // As Framebuffer::leave_on_screen(). The kernel's framebuffer keeps the memory.
  bool leave_on_screen(bool file_stays);
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
  explicit DumbBuffer(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  Result<std::uint8_t *> map(int protection) const;
  int make(std::uint32_t fourcc, std::uint32_t width, std::uint32_t height); // 0 or -errno

  std::shared_ptr<Device> device_;
  std::uint32_t handle_ = 0;
  std::uint32_t framebuffer_id_ = 0;
  std::uint32_t width_ = 0;
  std::uint32_t height_ = 0;
  std::uint32_t stride_bytes_ = 0;
  std::uint64_t size_bytes_ = 0;
  std::uint8_t *mapped_ = nullptr; // by keep_mapped()
};

} // namespace gstdrm::kms
