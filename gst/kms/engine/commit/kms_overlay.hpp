// SPDX-License-Identifier: LGPL-2.1-or-later
// What lies over a picture: small images with alpha, and what a plane shows of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gst/drm/core/result.hpp>

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

// Where a picture is on the screen.
struct OverlayPlacement {
  Rectangle source;      // of the picture
  Rectangle destination; // on the CRTC
  Rectangle screen;      // the mode
  friend bool operator==(const OverlayPlacement &, const OverlayPlacement &) = default;
};

// Draws overlays into buffers that a plane can show, and keeps a few buffers for it. By the
// streaming thread. A buffer is drawn again when no frame and no plane has it any more.
class OverlayRasters {
public:
  // One on the plane, one that a commit in flight replaces, two that wait with their frames, one
  // that is drawn, and one more of a frame that was dropped.
  static constexpr std::size_t kMostBuffers = 6;

  explicit OverlayRasters(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  // null: nothing of the overlay is in the picture. The same overlay in the same place is drawn
  // once. Error: no buffer is free, or the device makes none.
  Result<std::shared_ptr<const OverlayRaster>> draw(const std::shared_ptr<const Overlay> &overlay,
                                                    const OverlayPlacement &placement);
  // Lets the buffers go.
  void clear();

private:
  struct Sheet {
    std::shared_ptr<DumbBuffer> buffer;
    std::vector<Rectangle> drawn; // what is not transparent, in its own pixels
  };
  Result<Sheet *> free_sheet(const Rectangle &bounds, const Rectangle &screen);

  std::shared_ptr<Device> device_;
  std::vector<Sheet> sheets_;
  // Of the last draw():
  std::shared_ptr<const Overlay> overlay_;
  OverlayPlacement placement_;
  std::shared_ptr<const OverlayRaster> raster_;
};

} // namespace gstdrm::kms
