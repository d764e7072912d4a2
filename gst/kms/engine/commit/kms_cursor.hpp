// SPDX-License-Identifier: LGPL-2.1-or-later
// The cursor as a value: what the cursor plane shows, and where.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "engine/card/kms_dumb.hpp"

namespace gstdrm::kms {

// Rows without padding, 4 bytes per pixel: B, G, R, A, the colours multiplied by alpha, as planes
// blend that have no "pixel blend mode" property (drm_blend.c).
struct CursorImage {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> pixels;
};

struct Cursor {
  std::shared_ptr<DumbBuffer> image; // null: hidden
  // The image's top left corner, in the mode's pixels; may lie outside.
  std::int32_t x = 0;
  std::int32_t y = 0;
  // Whether both look the same.
  friend bool operator==(const Cursor &a, const Cursor &b)
  {
    return a.image == b.image && (!a.image || (a.x == b.x && a.y == b.y));
  }
};

// A buffer for the cursor plane, with the image. Error: the image is larger than the hardware's
// cursor, or there is no memory.
Result<std::shared_ptr<DumbBuffer>> make_cursor(const std::shared_ptr<Device> &device,
                                                const CursorImage &image);

} // namespace gstdrm::kms
