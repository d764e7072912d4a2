// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames in the kernel's dma-bufs, laid out as a test wants them, and the colours that they stand
// for, computed on the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-private.hpp>

namespace gstdrm::test {

// Coefficients of ITU-R BT.601 and BT.709: the shares of red and blue in luma.
struct YuvMatrix {
  double red = 0.299;
  double blue = 0.114;
  bool full_range = false;
};

// How a test frame lies in memory.
struct Placement {
  std::uint32_t stride_align = 1;
  std::uint32_t offset_align = 1;
  std::uint32_t lead_bytes = 0; // before the first plane of each dma-buf
  bool own_buffers = false;     // a dma-buf for each plane, else one
};

using Rgba = std::array<double, 4>; // 0 to 255

// A frame with a pattern in it: every byte of a plane differs from its neighbours, and chroma is
// flat in blocks of 16x16 pixels, so that no filter for it changes the colour away from their
// edges.
class PatternFrame {
public:
  PatternFrame(GstDrmAllocatorKind kind, std::uint32_t fourcc, std::uint32_t width,
               std::uint32_t height, const Placement &placement);
  PatternFrame(const PatternFrame &) = delete;
  PatternFrame &operator=(const PatternFrame &) = delete;
  ~PatternFrame();

  [[nodiscard]] const FrameLayout &layout() const { return layout_; }
  // A new buffer around the frame's memory, as a producer with a pool of its own sends it.
  [[nodiscard]] GstPtr<GstBuffer> buffer() const;
  // Writes the pattern; another `seed` gives another one.
  void fill(unsigned seed);
  // Of the pattern; nothing is read back.
  [[nodiscard]] Rgba expected(std::uint32_t x, std::uint32_t y, const YuvMatrix &matrix) const;
  // Component of a plane's pixel as it is stored: 0 to 255, or 65535 where samples have 16 bits.
  [[nodiscard]] unsigned stored(std::size_t plane, std::uint32_t x, std::uint32_t y,
                                unsigned component) const;
  [[nodiscard]] bool is_wide() const; // samples of 16 bits
  // Whether the pixel is so far from the edges of its chroma block that filters do not matter.
  [[nodiscard]] bool is_flat(std::uint32_t x, std::uint32_t y) const;

private:
  GstAllocator *allocator_;
  std::vector<GstMemory *> memories_;
  FrameLayout layout_;
  unsigned seed_ = 0;
};

} // namespace gstdrm::test
