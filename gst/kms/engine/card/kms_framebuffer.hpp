// SPDX-License-Identifier: LGPL-2.1-or-later
// Framebuffers over imported dma-bufs, each made once per dma-buf, and the cache that keeps them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/result.hpp>

#include "kms_device.hpp"

namespace gstdrm::kms {

// One KMS framebuffer. The kernel's framebuffer holds the dma-bufs (through its GEM objects) until
// RMFB; RMFB of one that is on screen turns its plane off, so whoever shows one keeps a share of
// it. May be destroyed by any thread.
class Framebuffer {
public:
  // PRIME_FD_TO_HANDLE for each dma-buf and ADDFB2. `layout` must have passed check_layout().
  static Result<std::shared_ptr<Framebuffer>> import(const std::shared_ptr<Device> &device,
                                                     const FrameLayout &layout);
  Framebuffer(const Framebuffer &) = delete;
  Framebuffer &operator=(const Framebuffer &) = delete;
  ~Framebuffer();

  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  [[nodiscard]] std::uint32_t width() const noexcept { return width_; }
  [[nodiscard]] std::uint32_t height() const noexcept { return height_; }

private:
  explicit Framebuffer(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  Result<void> add(const FrameLayout &layout);

  std::shared_ptr<Device> device_;
  std::array<BufferIdentity, kMaxPlanes> identities_{}; // one acquired handle each
  std::size_t n_handles_ = 0;
  std::uint32_t id_ = 0;
  std::uint32_t width_ = 0;
  std::uint32_t height_ = 0;
};

// Import cache, keyed on what the framebuffer is made of: the identity of each plane's dma-buf, the
// layout and the format; neither the GstMemory nor the number of the descriptor counts. Whoever
// holds memory of a cached buffer holds its liveness token; an entry whose tokens are all gone is
// dropped kKeepFrames frames later, or sooner when such entries hold more than kKeepBytes. One
// thread.
class ImportCache {
public:
  static constexpr std::uint64_t kKeepFrames = 32;
  static constexpr std::uint64_t kKeepBytes = 128U << 20;

  using Liveness = std::shared_ptr<const void>;
  struct Import {
    std::shared_ptr<Framebuffer> framebuffer;
    Liveness liveness;
    bool hit = false;
  };

  explicit ImportCache(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  Result<Import> import(const FrameLayout &layout);
  // Once per frame: ages the entries.
  void advance();
  void clear() { entries_.clear(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

private:
  struct PlaneKey {
    BufferIdentity identity;
    std::uint64_t offset_bytes = 0;
    std::uint32_t stride_bytes = 0;
    friend auto operator<=>(const PlaneKey &, const PlaneKey &) = default;
  };
  struct Key {
    Format format;
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::array<PlaneKey, kMaxPlanes> planes{};
    friend auto operator<=>(const Key &, const Key &) = default;
  };
  struct Entry {
    std::shared_ptr<Framebuffer> framebuffer;
    Liveness liveness;
    std::uint64_t last_alive = 0; // frame in which it was last seen, or its memory was alive
    std::uint64_t size_bytes = 0;
  };
  static Key key_of(const FrameLayout &layout);

  std::shared_ptr<Device> device_;
  std::map<Key, Entry> entries_;
  std::uint64_t frame_ = 0;
};

} // namespace gstdrm::kms
