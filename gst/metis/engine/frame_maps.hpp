// SPDX-License-Identifier: LGPL-2.1-or-later
// CPU mappings of frames in dma-bufs, for reading. A dma-buf stays mapped until its memory is
// freed, because mapping a frame costs more time than reading it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <gst/drm/core/import_cache.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/core/sync_file.hpp>

namespace gstdrm::metis {

// One thread.
class FrameMaps {
public:
  struct View {
    std::array<const std::uint8_t *, kMaxPlanes> planes{};
    std::array<std::uint32_t, kMaxPlanes> strides{};
    std::shared_ptr<const void> mapping;  // keeps the planes mapped
    std::shared_ptr<const void> liveness; // Outcome::liveness
    std::vector<CpuAccess> accesses;      // destroy the view before the frame's descriptors
    bool hit = false;
  };

  // `releases` is ImportBounds::releases.
  explicit FrameMaps(std::atomic<std::uint64_t> &releases);
  // `layout` has to have passed check_layout(). Begins CPU access, which waits for the implicit
  // fences of writers: a caller that must not sleep polls the dma-bufs first.
  Result<View> map(const FrameLayout &layout);
  // Call it once per frame.
  void advance() { cache_.advance(); }
  void clear() { cache_.clear(); }
  void drop_unused() { cache_.drop_unused(); }

private:
  struct Mapping;
  static Result<std::shared_ptr<const Mapping>> map_planes(const FrameLayout &layout);

  ImportCache<std::shared_ptr<const Mapping>> cache_;
};

} // namespace gstdrm::metis
