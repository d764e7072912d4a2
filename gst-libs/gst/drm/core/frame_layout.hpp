// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "format.hpp"
#include "result.hpp"

namespace gstdrm {

// Which dma-buf (or memfd) a descriptor refers to, whatever its number: st_dev and st_ino. Every
// dma-buf has an inode of its own since Linux 5.3 (dma-buf pseudo file system). Before, each query
// returns another identity: a dma-buf is never taken for another one, and may be imported again.
// Of a dma-buf that cannot be told from others `device` is kUnknown, and the identity equals no
// other one.
struct BufferIdentity {
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  [[nodiscard]] constexpr bool is_known() const noexcept { return device != kUnknown; }
  friend constexpr auto operator<=>(const BufferIdentity &, const BufferIdentity &) = default;
};

struct ObjectInfo {
  BufferIdentity identity;
  std::uint64_t size_bytes = 0;
};

// Identity by fstat(2), size by lseek(SEEK_END) as dma-buf.rst says; Error for a dead descriptor or
// one that is neither a dma-buf nor a regular (memfd) file.
Result<ObjectInfo> query_object(int fd);

struct PlaneLayout {
  int fd = -1;                    // borrowed
  std::uint64_t offset_bytes = 0; // from the start of this fd's object
  std::uint32_t stride_bytes = 0;
  ObjectInfo object;
};

struct FrameLayout {
  Format format;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::size_t n_planes = 0;
  std::array<PlaneLayout, kMaxPlanes> planes{};
};

// The one rule book for layouts: plane count against fourcc and modifier, stride at least the row,
// every plane inside its object for linear layouts and known tilings, no overflow, 32-bit offsets
// (drm_mode_fb_cmd2). For any other modifier strides and offsets are opaque: only offset < size
// is asked. Messages carry the numbers.
Result<void> check_layout(const FrameLayout &layout);

// The smallest number of pixels whose rows take a multiple of `align` bytes in every plane of a
// linear layout. `align` is at most 2^31.
std::uint64_t linear_width_step(const FourccInfo &info, std::uint64_t align) noexcept;

// The pixels of a row of at least `width`, padding included, if each stride is a multiple of
// `align` bytes, a power of two. All planes keep one common row length (make_linear_plan() says
// why). A stride of a single plane may end within a pixel: 2048 bytes are 682 pixels of 3 bytes.
std::uint64_t linear_padded_width(const FourccInfo &info, std::uint64_t width,
                                  std::uint64_t align) noexcept;

// Linear layout of a fourcc with each stride rounded up to stride_align (a power of two) and each
// plane's offset to offset_align. `size_bytes` gets the total. Object and fd are left empty.
Result<FrameLayout> make_linear_layout(std::uint32_t fourcc, std::uint32_t width,
                                       std::uint32_t height, std::uint32_t stride_align,
                                       std::uint32_t offset_align, std::uint64_t &size_bytes);

} // namespace gstdrm
