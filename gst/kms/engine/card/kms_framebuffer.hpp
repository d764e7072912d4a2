// SPDX-License-Identifier: LGPL-2.1-or-later
// Framebuffers over imported dma-bufs, each made once per dma-buf, and the cache that keeps them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/import_cache.hpp>
#include <gst/drm/core/result.hpp>

#include "kms_device.hpp"

namespace gstdrm::kms {

// Where the rows of a framebuffer's planes begin. Some drivers change these in a mode set alone.
struct FramebufferRows {
  std::array<std::uint32_t, kMaxPlanes> strides_bytes{};
  std::array<std::uint32_t, kMaxPlanes> offsets_bytes{};
  friend bool operator==(const FramebufferRows &, const FramebufferRows &) = default;
};

// One KMS framebuffer. The kernel's framebuffer holds the dma-bufs (through its GEM objects) until
// RMFB. RMFB of a framebuffer that is on screen turns its plane off, so the code that shows a
// framebuffer keeps a reference to it. Any thread may destroy a framebuffer.
class Framebuffer {
public:
  // PRIME_FD_TO_HANDLE for each dma-buf and ADDFB2. `layout` must have passed check_layout().
  static Result<std::shared_ptr<Framebuffer>> import(const std::shared_ptr<Device> &device,
                                                     const FrameLayout &layout);
  Framebuffer(const Framebuffer &) = delete;
  Framebuffer &operator=(const Framebuffer &) = delete;
  ~Framebuffer();

  // Lets the kernel's framebuffer go without taking it off the screen (kms_kept_files.hpp); there
  // is none from then on. `file_stays`: its open file is kept. false: neither can be.
  bool leave_on_screen(bool file_stays);

  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  [[nodiscard]] std::uint32_t width() const noexcept { return width_; }
  [[nodiscard]] std::uint32_t height() const noexcept { return height_; }
  [[nodiscard]] const FramebufferRows &rows() const noexcept { return rows_; }

private:
  explicit Framebuffer(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  Result<void> add(const FrameLayout &layout);

  std::shared_ptr<Device> device_;
  std::array<BufferIdentity, kMaxPlanes> identities_{}; // one acquired handle each
  std::size_t n_handles_ = 0;
  std::uint32_t id_ = 0;
  std::uint32_t width_ = 0;
  std::uint32_t height_ = 0;
  FramebufferRows rows_;
};

// Framebuffers of one device, looked up by the dma-bufs and the layout that they were made from.
// One thread.
class FramebufferCache : public gstdrm::ImportCache<std::shared_ptr<Framebuffer>> {
public:
  static constexpr std::uint64_t kKeepFrames = ImportBounds{}.keep_frames;
  static constexpr std::uint64_t kKeepBytes = ImportBounds{}.keep_bytes;

  explicit FramebufferCache(std::shared_ptr<Device> device);
};

} // namespace gstdrm::kms
