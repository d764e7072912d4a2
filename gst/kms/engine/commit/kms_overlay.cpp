// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_overlay.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include <drm_fourcc.h>

#include "kms_overlay_pixels.hpp"

namespace gstdrm::kms {

namespace {

// Planes have a smallest size: 4 pixels in vop2_plane_atomic_check() (rockchip_drm_vop2.c), and
// some want even positions.
constexpr std::uint32_t kLeastSize = 16;
// Sizes of buffers are multiples of it, so that a box that grows does not need a buffer per frame.
constexpr std::uint32_t kSizeStep = 64;

struct Visible {
  const OverlayImage *image = nullptr;
  Rectangle place; // of the whole image, on the screen
  Rectangle area;  // what is to be seen
};

std::vector<Visible> visible_images(const Overlay &overlay, const OverlayPlacement &placement)
{
  std::vector<Visible> list;
  const auto limits = intersect(placement.destination, placement.screen);
  if (!limits)
    return list;
  for (const OverlayImage &image : overlay.images) {
    const Rectangle place = map_place(image.place, placement.source, placement.destination);
    if (image.width == 0 || image.height == 0 || place.width == 0 || place.height == 0)
      continue;
    if (const auto area = intersect(place, *limits))
      list.push_back({&image, place, *area});
  }
  return list;
}

// The smallest range with even ends and the least size around [start, start + length), in a screen
// of `most` pixels.
void widen(std::int32_t &start, std::uint32_t &length, std::uint32_t most)
{
  std::uint32_t end = static_cast<std::uint32_t>(start) + length;
  auto first = static_cast<std::uint32_t>(start) & ~1U;
  end = std::min((end + 1) & ~1U, most);
  if (end - first < kLeastSize) {
    end = std::min(first + kLeastSize, most);
    first = end > kLeastSize ? std::min(first, (end - kLeastSize) & ~1U) : 0;
  }
  start = static_cast<std::int32_t>(first);
  length = end - first;
}

Rectangle bounds_of(const std::vector<Visible> &images, const Rectangle &screen)
{
  std::int32_t left = images.front().area.x, top = images.front().area.y;
  std::int64_t right = left, bottom = top;
  for (const Visible &visible : images) {
    left = std::min(left, visible.area.x);
    top = std::min(top, visible.area.y);
    right = std::max(right, std::int64_t{visible.area.x} + visible.area.width);
    bottom = std::max(bottom, std::int64_t{visible.area.y} + visible.area.height);
  }
  Rectangle bounds{left, top, static_cast<std::uint32_t>(right - left),
                   static_cast<std::uint32_t>(bottom - top)};
  widen(bounds.x, bounds.width, screen.width);
  widen(bounds.y, bounds.height, screen.height);
  return bounds;
}

std::uint32_t rounded_up(std::uint32_t size, std::uint32_t most)
{
  return std::max(size, std::min((size + kSizeStep - 1) / kSizeStep * kSizeStep, most));
}

bool has_room(const DumbBuffer &buffer, const Rectangle &bounds)
{
  return buffer.width() >= bounds.width && buffer.height() >= bounds.height;
}

} // namespace

// A transparent one with room for `bounds`.
Result<OverlayRasters::Sheet *> OverlayRasters::free_sheet(const Rectangle &bounds,
                                                           const Rectangle &screen)
{
  Sheet *small = nullptr;
  for (Sheet &sheet : sheets_) {
    if (sheet.buffer.use_count() > 1)
      continue;
    if (has_room(*sheet.buffer, bounds))
      return &sheet;
    small = &sheet;
  }
  if (!small && sheets_.size() >= kMostBuffers)
    return Error{ErrorCode::Allocation,
                 "Every overlay buffer of " + device_->name() + " is still on screen.", EBUSY};
  Result<std::unique_ptr<DumbBuffer>> made =
      DumbBuffer::create(device_, DRM_FORMAT_ARGB8888, rounded_up(bounds.width, screen.width),
                         rounded_up(bounds.height, screen.height));
  if (!made)
    return made.error();
  if (Result<std::uint8_t *> mapped = (*made)->keep_mapped(); !mapped)
    return mapped.error();
  Sheet sheet{std::move(*made), {}};
  if (small) {
    *small = std::move(sheet);
    return small;
  }
  sheets_.push_back(std::move(sheet));
  return &sheets_.back();
}

Result<std::shared_ptr<const OverlayRaster>>
OverlayRasters::draw(const std::shared_ptr<const Overlay> &overlay,
                     const OverlayPlacement &placement)
{
  if (overlay == overlay_ && placement == placement_)
    return raster_;
  std::shared_ptr<const OverlayRaster> raster;
  const std::vector<Visible> images = visible_images(*overlay, placement);
  if (!images.empty()) {
    overlay_.reset(); // what it was drawn into may be free
    raster_.reset();
    const Rectangle bounds = bounds_of(images, placement.screen);
    Result<Sheet *> sheet = free_sheet(bounds, placement.screen);
    if (!sheet)
      return sheet.error();
    DumbBuffer &buffer = *(*sheet)->buffer;
    Result<std::uint8_t *> pixels = buffer.keep_mapped();
    if (!pixels)
      return pixels.error();
    std::vector<Rectangle> &drawn = (*sheet)->drawn;
    for (const Rectangle &area : std::exchange(drawn, {}))
      clear_area({*pixels, buffer.stride_bytes(), 0, 0}, area);
    const Canvas canvas{*pixels, buffer.stride_bytes(), bounds.x, bounds.y};
    for (const Visible &visible : images) {
      const Rectangle area{visible.area.x - bounds.x, visible.area.y - bounds.y, visible.area.width,
                           visible.area.height};
      const bool over_another = std::any_of(drawn.begin(), drawn.end(), [&](const Rectangle &r) {
        return intersect(r, area).has_value();
      });
      draw_image(canvas, *visible.image, visible.place, visible.area,
                 over_another ? Over::Image : Over::Nothing);
      drawn.push_back(area);
    }
    raster = std::make_shared<const OverlayRaster>(
        OverlayRaster{(*sheet)->buffer, {0, 0, bounds.width, bounds.height}, bounds});
  }
  overlay_ = overlay;
  placement_ = placement;
  raster_ = std::move(raster);
  return raster_;
}

void OverlayRasters::clear()
{
  overlay_.reset();
  raster_.reset();
  sheets_.clear();
}

} // namespace gstdrm::kms
