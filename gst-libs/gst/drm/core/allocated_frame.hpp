// SPDX-License-Identifier: LGPL-2.1-or-later
// A frame as its maker describes it, whether that is an allocator of the library or a driver. The
// frame owns its memory's descriptors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "format.hpp"
#include "unique_fd.hpp"

namespace gstdrm {

// Pixels around the visible picture.
struct Padding {
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  std::uint32_t top = 0;
  std::uint32_t bottom = 0;
  [[nodiscard]] bool any() const noexcept { return (left | right | top | bottom) != 0; }
  friend bool operator==(const Padding &, const Padding &) = default;
};

// One file descriptor of memory.
struct FrameObject {
  UniqueFd fd;
  std::uint64_t size_bytes = 0;
};

struct FramePlane {
  std::size_t object = 0;         // index into AllocatedFrame::objects
  std::uint64_t offset_bytes = 0; // of the first visible pixel, from the start of the object
  std::uint32_t stride_bytes = 0;
};

struct AllocatedFrame {
  Format format; // with the modifier that was chosen
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  // As realised: at least what was asked, the rest of the rows included. For linear layouts only.
  Padding padding;
  std::uint32_t stride_align = 1;
  std::vector<FrameObject> objects;
  std::size_t n_planes = 0;
  std::array<FramePlane, kMaxPlanes> planes{};
};

} // namespace gstdrm
