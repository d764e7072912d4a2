// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_image.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <va/va_str.h>

#include <gst/drm/core/format.hpp>
#include <gst/drm/core/log.hpp>

namespace gstdrm::va {
namespace {

// SemiPlanar16: 10 or 12 bits in the high bits of 16.
enum class Packing { Rgb32, Rgb10, SemiPlanar8, SemiPlanar16, Planar, Packed422 };

struct Shape {
  std::uint32_t va_fourcc;
  Packing packing;
  // Rgb32: index of the byte of R, G, B, A. Packed422: index of the byte of Y0, U, Y1, V. Planar:
  // index of the plane of Y, U, V. SemiPlanar: index of U and V in a pair of chroma samples.
  std::array<std::uint8_t, 4> order;
};
constexpr std::array kShapes = {
    Shape{VA_FOURCC_NV12, Packing::SemiPlanar8, {0, 1, 0, 0}},
    Shape{VA_FOURCC_NV21, Packing::SemiPlanar8, {1, 0, 0, 0}},
    Shape{VA_FOURCC_P010, Packing::SemiPlanar16, {0, 1, 0, 0}},
    Shape{VA_FOURCC_P012, Packing::SemiPlanar16, {0, 1, 0, 0}},
    Shape{VA_FOURCC_I420, Packing::Planar, {0, 1, 2, 0}},
    Shape{VA_FOURCC_YV12, Packing::Planar, {0, 2, 1, 0}},
    Shape{VA_FOURCC_YUY2, Packing::Packed422, {0, 1, 2, 3}},
    Shape{VA_FOURCC_UYVY, Packing::Packed422, {1, 0, 3, 2}},
    Shape{VA_FOURCC_BGRX, Packing::Rgb32, {2, 1, 0, 3}},
    Shape{VA_FOURCC_BGRA, Packing::Rgb32, {2, 1, 0, 3}},
    Shape{VA_FOURCC_RGBX, Packing::Rgb32, {0, 1, 2, 3}},
    Shape{VA_FOURCC_RGBA, Packing::Rgb32, {0, 1, 2, 3}},
    Shape{VA_FOURCC_XRGB, Packing::Rgb32, {1, 2, 3, 0}},
    Shape{VA_FOURCC_ARGB, Packing::Rgb32, {1, 2, 3, 0}},
    Shape{VA_FOURCC_X2R10G10B10, Packing::Rgb10, {}},
    Shape{VA_FOURCC_A2R10G10B10, Packing::Rgb10, {}},
};

const Shape *find_shape(std::uint32_t va_fourcc)
{
  const auto it = std::find_if(kShapes.begin(), kShapes.end(), [va_fourcc](const auto &shape) {
    return shape.va_fourcc == va_fourcc;
  });
  return it == kShapes.end() ? nullptr : &*it;
}

struct Yuv {
  std::uint16_t y;
  std::uint16_t u;
  std::uint16_t v;
};

struct Weights {
  std::int64_t y[3];
  std::int64_t u[3];
  std::int64_t v[3];
};

// Weights of R, G, B with 16 fractional bits, for narrow range, from Kr and Kb of ITU-R BT.601,
// BT.709 and BT.2020 (non-constant luminance).
const Weights &weights_of(Matrix matrix)
{
  static constexpr Weights bt601 = {
      {16829, 33039, 6416}, {-9714, -19071, 28784}, {28784, -24103, -4681}};
  static constexpr Weights bt709 = {
      {11966, 40254, 4064}, {-6596, -22189, 28784}, {28784, -26145, -2639}};
  static constexpr Weights bt2020 = {
      {14786, 38160, 3338}, {-8038, -20746, 28784}, {28784, -26469, -2315}};
  return matrix == Matrix::Bt2020 ? bt2020 : matrix == Matrix::Bt709 ? bt709 : bt601;
}

// `bits` of a sample, 8 to 12.
Yuv to_yuv(std::uint32_t argb, const Colours &colours, unsigned bits)
{
  const Weights &w = weights_of(colours.matrix);
  const std::int64_t r = argb >> 16 & 0xff;
  const std::int64_t g = argb >> 8 & 0xff;
  const std::int64_t b = argb & 0xff;
  const unsigned fraction = 16 - (bits - 8);
  const auto component = [=](const std::int64_t(&weight)[3], std::int64_t base) {
    const auto sum =
        weight[0] * r + weight[1] * g + weight[2] * b + (base << 16) + (1LL << (fraction - 1));
    return static_cast<std::uint16_t>(
        std::clamp<std::int64_t>(sum >> fraction, 0, (1LL << bits) - 1));
  };
  if (!colours.full_range)
    return {component(w.y, 16), component(w.u, 128), component(w.v, 128)};
  // scale the steps of narrow range (ITU-R BT.2100, table 9) to full range
  const std::int64_t most = (1LL << bits) - 1;
  const auto full = [=](const std::int64_t(&weight)[3], std::int64_t steps, std::int64_t base) {
    const auto sum = (weight[0] * r + weight[1] * g + weight[2] * b) * most;
    const auto one = steps << 16;
    return static_cast<std::uint16_t>(
        std::clamp<std::int64_t>((sum + base * one + one / 2) / one, 0, most));
  };
  const std::int64_t middle = 1LL << (bits - 1);
  return {full(w.y, 219, 0), full(w.u, 224, middle), full(w.v, 224, middle)};
}

void store(std::uint8_t *p, std::uint16_t sample, unsigned bits)
{
  if (bits == 8) {
    *p = static_cast<std::uint8_t>(sample);
    return;
  }
  const auto word = static_cast<std::uint16_t>(sample << (16 - bits)); // little endian
  p[0] = static_cast<std::uint8_t>(word);
  p[1] = static_cast<std::uint8_t>(word >> 8);
}

unsigned bits_of(const Shape &shape)
{
  if (shape.packing != Packing::SemiPlanar16)
    return 8;
  return shape.va_fourcc == VA_FOURCC_P012 ? 12 : 10;
}

struct Target {
  const Shape &shape;
  const VAImage &image;
  std::uint8_t *data;
  [[nodiscard]] std::uint8_t *row(unsigned plane, std::uint32_t y) const
  {
    return data + image.offsets[plane] + static_cast<std::size_t>(image.pitches[plane]) * y;
  }
};

void write_rgb(const Target &target, std::uint32_t y, const std::uint32_t *argb,
               std::uint32_t width)
{
  auto *out = target.row(0, y);
  for (std::uint32_t x = 0; x < width; ++x, out += 4) {
    if (target.shape.packing == Packing::Rgb32) {
      for (unsigned c = 0; c < 4; ++c)
        out[target.shape.order[c]] =
            static_cast<std::uint8_t>(argb[x] >> (c == 3 ? 24 : 16 - 8 * c));
      continue;
    }
    std::uint32_t word = argb[x] >> 30 << 30;
    for (unsigned c = 0; c < 3; ++c) {
      const auto eight = argb[x] >> (8 * c) & 0xff; // B, G, R, from the lowest bits up
      word |= (eight << 2 | eight >> 6) << (10 * c);
    }
    std::memcpy(out, &word, sizeof word);
  }
}

void write_yuv(const Target &target, std::uint32_t y, const std::uint32_t *argb,
               std::uint32_t width, const Colours &colours)
{
  const auto &order = target.shape.order;
  const unsigned bits = bits_of(target.shape);
  const unsigned step = bits > 8 ? 2 : 1;
  for (std::uint32_t x = 0; x < width; ++x) {
    const auto yuv = to_yuv(argb[x], colours, bits);
    const bool chroma = x % 2 == 0 && y % 2 == 0;
    if (target.shape.packing == Packing::Packed422) {
      auto *out = target.row(0, y) + static_cast<std::size_t>(x) / 2 * 4;
      store(out + order[x % 2 ? 2 : 0], yuv.y, bits);
      if (x % 2 == 0) {
        store(out + order[1], yuv.u, bits);
        store(out + order[3], yuv.v, bits);
      }
    } else if (target.shape.packing == Packing::Planar) {
      store(target.row(order[0], y) + x, yuv.y, bits);
      if (chroma) {
        store(target.row(order[1], y / 2) + x / 2, yuv.u, bits);
        store(target.row(order[2], y / 2) + x / 2, yuv.v, bits);
      }
    } else {
      store(target.row(0, y) + static_cast<std::size_t>(x) * step, yuv.y, bits);
      if (!chroma)
        continue;
      auto *uv = target.row(1, y / 2) + static_cast<std::size_t>(x) * step;
      store(uv + step * order[0], yuv.u, bits);
      store(uv + step * order[1], yuv.v, bits);
    }
  }
}

bool is_rgb(Packing packing)
{
  return packing == Packing::Rgb32 || packing == Packing::Rgb10;
}

// The size of one plane.
struct Extent {
  std::uint64_t row_bytes;
  std::uint64_t rows;
};
Extent extent(Packing packing, unsigned plane, std::uint64_t width, std::uint64_t height)
{
  const auto half_width = (width + 1) / 2;
  const auto half_height = (height + 1) / 2;
  switch (packing) {
  case Packing::Rgb32:
  case Packing::Rgb10:
    return {width * 4, height};
  case Packing::Packed422:
    return {half_width * 4, height};
  case Packing::Planar:
    return plane == 0 ? Extent{width, height} : Extent{half_width, half_height};
  case Packing::SemiPlanar8:
    return plane == 0 ? Extent{width, height} : Extent{half_width * 2, half_height};
  case Packing::SemiPlanar16:
    break;
  }
  return plane == 0 ? Extent{width * 2, height} : Extent{half_width * 4, half_height};
}

unsigned plane_count(Packing packing)
{
  if (packing == Packing::Planar)
    return 3;
  return packing == Packing::SemiPlanar8 || packing == Packing::SemiPlanar16 ? 2 : 1;
}

// Checks that the driver's image is large enough for the picture.
bool fits(const Shape &shape, const VAImage &image, std::size_t data_size, const Picture &picture)
{
  if (image.num_planes < plane_count(shape.packing) || image.width < picture.width ||
      image.height < picture.height)
    return false;
  for (unsigned i = 0; i < plane_count(shape.packing); ++i) {
    const auto [row_bytes, rows] = extent(shape.packing, i, picture.width, picture.height);
    const auto end = image.offsets[i] + std::uint64_t{image.pitches[i]} * (rows - 1) + row_bytes;
    if (image.pitches[i] < row_bytes || end > data_size)
      return false;
  }
  return true;
}

} // namespace

bool can_write(std::uint32_t va_fourcc)
{
  return find_shape(va_fourcc) != nullptr;
}

bool write_image(const VAImage &image, std::uint8_t *data, std::size_t data_size,
                 const Picture &picture, const Colours &colours)
{
  const auto *shape = find_shape(image.format.fourcc);
  if (!shape || picture.height == 0 || !fits(*shape, image, data_size, picture))
    return false;
  const Target target{*shape, image, data};
  for (std::uint32_t y = 0; y < picture.height; ++y) {
    const auto *row = picture.argb.data() + static_cast<std::size_t>(y) * picture.width;
    if (is_rgb(shape->packing))
      write_rgb(target, y, row, picture.width);
    else
      write_yuv(target, y, row, picture.width, colours);
  }
  return true;
}

namespace {

// A VA buffer that is mapped into this process until the object is destroyed.
class Map {
public:
  static Result<Map> open(Display &display, VABufferID buffer)
  {
    Map map;
    const VAStatus status = vaMapBuffer(display.count(), buffer, &map.data_);
    if (status != VA_STATUS_SUCCESS)
      return display.error(ErrorCode::Device, "vaMapBuffer", status);
    map.display_ = &display;
    map.buffer_ = buffer;
    return map;
  }
  Map(Map &&other) noexcept
      : display_(std::exchange(other.display_, nullptr)), buffer_(other.buffer_), data_(other.data_)
  {
  }
  Map &operator=(Map &&) = delete;
  Map(const Map &) = delete;
  Map &operator=(const Map &) = delete;
  ~Map()
  {
    if (display_)
      (void)vaUnmapBuffer(display_->count(), buffer_);
  }
  [[nodiscard]] std::uint8_t *data() const { return static_cast<std::uint8_t *>(data_); }

private:
  Map() = default;
  Display *display_ = nullptr;
  VABufferID buffer_ = VA_INVALID_ID;
  void *data_ = nullptr;
};

} // namespace

Result<std::uint64_t> Uploader::fill(const VAImage &image, const Picture &picture,
                                     const Colours &colours)
{
  auto map = Map::open(*display_, image.buf);
  if (!map)
    return map.error();
  if (!write_image(image, map->data(), image.data_size, picture, colours))
    return Error{ErrorCode::Unsupported, "An image of " + fourcc_to_string(image.format.fourcc) +
                                             " (VA) from " + display_->node() +
                                             " cannot be written here"};
  return std::uint64_t{image.data_size};
}

Result<std::uint64_t> Uploader::put(const Surface &surface, const PixelFormat &format,
                                    const Picture &picture, const Colours &colours)
{
  VAImageFormat wanted{};
  wanted.fourcc = format.va_fourcc;
  wanted.byte_order = VA_LSB_FIRST;
  VAImage image{};
  VAStatus status = vaCreateImage(display_->count(), &wanted, static_cast<int>(picture.width),
                                  static_cast<int>(picture.height), &image);
  if (status != VA_STATUS_SUCCESS)
    return display_->error(ErrorCode::Allocation, "vaCreateImage", status);
  const ImageHandle owner(display_, image.image_id);
  auto written = fill(image, picture, colours);
  if (!written)
    return written;
  status = vaPutImage(display_->count(), surface.id(), image.image_id, 0, 0, picture.width,
                      picture.height, 0, 0, picture.width, picture.height);
  if (status != VA_STATUS_SUCCESS)
    return display_->error(ErrorCode::Device, "vaPutImage", status);
  return written;
}

Result<std::uint64_t> Uploader::upload(const Surface &surface, const PixelFormat &format,
                                       const Picture &picture, const Colours &colours)
{
  if (may_derive_) {
    VAImage image{};
    const VAStatus status = vaDeriveImage(display_->count(), surface.id(), &image);
    if (status == VA_STATUS_SUCCESS) {
      const ImageHandle owner(display_, image.image_id);
      // Some drivers derive an image whose format differs from the surface's.
      if (image.format.fourcc == format.va_fourcc) {
        if (auto written = fill(image, picture, colours))
          return written;
      }
    }
    may_derive_ = false;
    GSTDRM_DEBUG("vaDeriveImage gives no image of %s on %s (%s): vaPutImage is used from now on",
                 fourcc_to_string(format.drm_fourcc).c_str(), display_->node().c_str(),
                 vaStatusStr(status));
  }
  return put(surface, format, picture, colours);
}

} // namespace gstdrm::va
