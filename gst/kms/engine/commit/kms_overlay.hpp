// SPDX-License-Identifier: LGPL-2.1-or-later
// What lies over a picture: small images with alpha, and what a plane shows of them. Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/card/kms_dumb.hpp"
#include "kms_geometry.hpp"

namespace gstdrm::kms {

struct OverlayImage {
  // 4 bytes per pixel: B, G, R, A, the colours multiplied by alpha
  const std::uint8_t *pixels = nullptr;
  std::uint32_t stride_bytes = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  Rectangle place; // in the picture's pixels; may be of another size, or hang over
  std::shared_ptr<const void> owner; // of the pixels
};

// Not changed once a frame has it: frames with the same overlay share one.
struct Overlay {
  std::vector<OverlayImage> images; // lowest first
};

// An overlay as it looks on screen: a part of a buffer, shown pixel for pixel. Not changed once a
// frame has it.
struct OverlayRaster {
  std::shared_ptr<DumbBuffer> buffer; // ARGB8888
  Rectangle source;
  Rectangle destination; // on the CRTC
};

} // namespace gstdrm::kms
