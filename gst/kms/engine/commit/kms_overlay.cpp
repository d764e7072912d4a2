// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_overlay.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <drm_fourcc.h>

#include "engine/card/kms_objects.hpp"

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

namespace {

// The width or height of cursor buffers: many cursor planes take no other size.
std::uint32_t cursor_size(int drm_fd, std::uint64_t capability)
{
  std::uint64_t value = 0;
  if (drmGetCap(drm_fd, capability, &value) != 0 || value == 0 || value > 4096)
    return 64; // what the kernel answers for drivers that say nothing (drm_ioctl.c, drm_getcap())
  return static_cast<std::uint32_t>(value);
}

} // namespace

Result<std::shared_ptr<DumbBuffer>> make_cursor(const std::shared_ptr<Device> &device,
                                                const CursorImage &image)
{
  const std::uint32_t width = cursor_size(device->fd(), DRM_CAP_CURSOR_WIDTH);
  const std::uint32_t height = cursor_size(device->fd(), DRM_CAP_CURSOR_HEIGHT);
  if (image.width > width || image.height > height)
    return device_error("A cursor of " + describe_size(image.width, image.height) +
                        " is larger than " + device->name() + " shows (" +
                        describe_size(width, height) + "). Set a smaller cursor-image.");
  Result<std::unique_ptr<DumbBuffer>> made =
      DumbBuffer::create(device, DRM_FORMAT_ARGB8888, width, height);
  if (!made)
    return made.error();
  if (Result<void> written = (*made)->write(image.pixels, image.width, image.height); !written)
    return written.error();
  return std::shared_ptr<DumbBuffer>(std::move(*made));
}

namespace {

constexpr std::int64_t kFarthest = 1 << 28; // pixels: beyond every screen, and far from overflow
constexpr int kFraction = 8;                // bits of a weight

std::int32_t map_edge(std::int64_t at, std::int64_t from, std::int64_t from_length, std::int64_t to,
                      std::int64_t to_length)
{
  const std::int64_t scaled = (at - from) * to_length * 2 + from_length; // plus one half
  const std::int64_t twice = from_length * 2;
  const std::int64_t whole = scaled / twice - (scaled % twice < 0 ? 1 : 0);
  return static_cast<std::int32_t>(std::clamp(to + whole, -kFarthest, kFarthest));
}

// Where a pixel of the screen lies between two pixels of an image.
struct Sample {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  std::uint32_t weight = 0; // of the second, of 1 << kFraction
};

Sample sample_at(std::int64_t index, std::int64_t place_length, std::int64_t image_length)
{
  // the middles of the pixels lie over each other
  const std::int64_t middle =
      (index * 2 + 1) * image_length * (1 << kFraction) / (place_length * 2);
  const std::int64_t at = std::clamp<std::int64_t>(middle - (1 << (kFraction - 1)), 0,
                                                   (image_length - 1) * (1 << kFraction));
  const auto first = static_cast<std::uint32_t>(at >> kFraction);
  return {first, std::min(first + 1, static_cast<std::uint32_t>(image_length - 1)),
          static_cast<std::uint32_t>(at & ((1 << kFraction) - 1))};
}

std::uint8_t mix(std::uint32_t a, std::uint32_t b, std::uint32_t weight)
{
  return static_cast<std::uint8_t>((a * ((1U << kFraction) - weight) + b * weight) >> kFraction);
}

// One row of the image as it looks on screen, from `first` pixels into its place on.
void scale_row(const OverlayImage &image, const Rectangle &place, std::int64_t y,
               std::int64_t first, std::vector<std::uint8_t> &row)
{
  const Sample v = sample_at(y, place.height, image.height);
  const std::uint8_t *upper = image.pixels + std::size_t{v.first} * image.stride_bytes;
  const std::uint8_t *lower = image.pixels + std::size_t{v.second} * image.stride_bytes;
  for (std::size_t i = 0; i * 4 < row.size(); i++) {
    const Sample h = sample_at(first + static_cast<std::int64_t>(i), place.width, image.width);
    for (std::size_t c = 0; c < 4; c++) {
      const std::size_t left = std::size_t{h.first} * 4 + c, right = std::size_t{h.second} * 4 + c;
      row[i * 4 + c] = mix(mix(upper[left], upper[right], h.weight),
                           mix(lower[left], lower[right], h.weight), v.weight);
    }
  }
}

// "source over", both with colours that are multiplied by alpha.
void blend_row(std::uint8_t *to, const std::uint8_t *from, std::size_t bytes)
{
  for (std::size_t i = 0; i < bytes; i += 4) {
    const unsigned left = 255U - from[i + 3];
    for (std::size_t c = i; c < i + 4; c++)
      to[c] = static_cast<std::uint8_t>(std::min(255U, from[c] + (to[c] * left + 127) / 255));
  }
}

std::uint8_t *pixel_at(const Canvas &canvas, std::int32_t x, std::int32_t y)
{
  return canvas.pixels + static_cast<std::size_t>(y - canvas.y) * canvas.stride_bytes +
         static_cast<std::size_t>(x - canvas.x) * 4;
}

} // namespace

Rectangle map_place(const Rectangle &place, const Rectangle &from, const Rectangle &to)
{
  if (from.width == 0 || from.height == 0)
    return {};
  const std::int32_t left = map_edge(place.x, from.x, from.width, to.x, to.width);
  const std::int32_t right =
      map_edge(std::int64_t{place.x} + place.width, from.x, from.width, to.x, to.width);
  const std::int32_t top = map_edge(place.y, from.y, from.height, to.y, to.height);
  const std::int32_t bottom =
      map_edge(std::int64_t{place.y} + place.height, from.y, from.height, to.y, to.height);
  return {left, top, static_cast<std::uint32_t>(right - left),
          static_cast<std::uint32_t>(bottom - top)};
}

void draw_image(const Canvas &canvas, const OverlayImage &image, const Rectangle &place,
                const Rectangle &visible, Over over)
{
  const bool scaled = place.width != image.width || place.height != image.height;
  const std::size_t bytes = std::size_t{visible.width} * 4;
  const std::int64_t first = std::int64_t{visible.x} - place.x;
  std::vector<std::uint8_t> row(scaled ? bytes : 0);
  for (std::int64_t y = visible.y; y < std::int64_t{visible.y} + visible.height; y++) {
    const std::int64_t image_y = y - place.y;
    const std::uint8_t *from = row.data();
    if (scaled)
      scale_row(image, place, image_y, first, row);
    else
      from = image.pixels + static_cast<std::size_t>(image_y) * image.stride_bytes +
             static_cast<std::size_t>(first) * 4;
    std::uint8_t *to = pixel_at(canvas, visible.x, static_cast<std::int32_t>(y));
    if (over == Over::Nothing)
      std::memcpy(to, from, bytes);
    else
      blend_row(to, from, bytes);
  }
}

void clear_area(const Canvas &canvas, const Rectangle &area)
{
  for (std::uint32_t row = 0; row < area.height; row++)
    std::memset(pixel_at(canvas, area.x, area.y + static_cast<std::int32_t>(row)), 0,
                std::size_t{area.width} * 4);
}

} // namespace gstdrm::kms
