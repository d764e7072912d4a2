// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames in dma-bufs, mapped for the CPU to read. A dma-buf is mapped once and stays so until its
// memory is gone: mapping a frame costs more than reading its pages does.
#pragma once

#include <array>
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
    std::shared_ptr<const void> liveness; // for the owner of the frame's memory
    std::vector<CpuAccess> accesses;      // end with the view; before the frame's descriptors do
    bool hit = false;
  };

  FrameMaps();
  // `layout` has passed check_layout(). Begins the CPU's access, which waits for the implicit
  // fences of writers: a caller that must not sleep has polled the dma-bufs before.
  Result<View> map(const FrameLayout &layout);
  // Once per frame.
  void advance() { cache_.advance(); }
  void clear() { cache_.clear(); }

private:
  struct Mapping;
  static Result<std::shared_ptr<const Mapping>> map_planes(const FrameLayout &layout);

  ImportCache<std::shared_ptr<const Mapping>> cache_;
};

} // namespace gstdrm::metis
