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

// Where a place in the picture is on the screen, if the picture's `from` is shown at `to`. Each
// edge is rounded for itself, so that neighbours stay neighbours.
Rectangle map_place(const Rectangle &place, const Rectangle &from, const Rectangle &to);

// Memory of 4 bytes per pixel, whose pixel 0,0 is pixel x,y of the screen.
struct Canvas {
  std::uint8_t *pixels = nullptr;
  std::uint32_t stride_bytes = 0;
  std::int32_t x = 0;
  std::int32_t y = 0;
};

enum class Over {
  Nothing, // the pixels are new, and the canvas is written alone: reading scanout memory is slow
  Image,   // blends
};

// Draws the part of the image that lies in `visible`, which lies in the canvas. The whole image
// covers `place` of the screen; where that has another size, the image is scaled, bilinear.
void draw_image(const Canvas &canvas, const OverlayImage &image, const Rectangle &place,
                const Rectangle &visible, Over over);

// Makes a part of the canvas transparent.
void clear_area(const Canvas &canvas, const Rectangle &area);

} // namespace gstdrm::kms
