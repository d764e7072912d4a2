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

// Where the samples of one component are: from byte `offset` of a row on, every `step` bytes.
struct Samples {
  std::uint8_t plane;
  std::uint8_t offset;
  std::uint8_t step;
};

// Of Y, U and V, or of R, G, B and A. Chroma has a sample for two pixels of a row, and in a plane
// of its own one for two rows. Formats of 10 bits of RGB have all in one word.
struct Shape {
  std::uint32_t va_fourcc;
  std::array<Samples, 4> parts;
  unsigned bits = 8; // of a sample; those of YUV beyond 8 are the high bits of a word
};
constexpr Shape rgb(std::uint32_t va_fourcc, std::array<std::uint8_t, 4> bytes)
{
  return {va_fourcc, {{{0, bytes[0], 4}, {0, bytes[1], 4}, {0, bytes[2], 4}, {0, bytes[3], 4}}}};
}
constexpr std::array kShapes = {
    Shape{VA_FOURCC_NV12, {{{0, 0, 1}, {1, 0, 2}, {1, 1, 2}}}},
    Shape{VA_FOURCC_NV21, {{{0, 0, 1}, {1, 1, 2}, {1, 0, 2}}}},
    Shape{VA_FOURCC_P010, {{{0, 0, 2}, {1, 0, 4}, {1, 2, 4}}}, 10},
    Shape{VA_FOURCC_P012, {{{0, 0, 2}, {1, 0, 4}, {1, 2, 4}}}, 12},
    Shape{VA_FOURCC_I420, {{{0, 0, 1}, {1, 0, 1}, {2, 0, 1}}}},
    Shape{VA_FOURCC_YV12, {{{0, 0, 1}, {2, 0, 1}, {1, 0, 1}}}},
    Shape{VA_FOURCC_YUY2, {{{0, 0, 2}, {0, 1, 4}, {0, 3, 4}}}},
    Shape{VA_FOURCC_UYVY, {{{0, 1, 2}, {0, 0, 4}, {0, 2, 4}}}},
    rgb(VA_FOURCC_BGRX, {2, 1, 0, 3}),
    rgb(VA_FOURCC_BGRA, {2, 1, 0, 3}),
    rgb(VA_FOURCC_RGBX, {0, 1, 2, 3}),
    rgb(VA_FOURCC_RGBA, {0, 1, 2, 3}),
    rgb(VA_FOURCC_XRGB, {1, 2, 3, 0}),
    rgb(VA_FOURCC_ARGB, {1, 2, 3, 0}),
    Shape{VA_FOURCC_X2R10G10B10, {}, 10},
    Shape{VA_FOURCC_A2R10G10B10, {}, 10},
};

const Shape *find_shape(std::uint32_t va_fourcc)
{
  const auto it = std::find_if(kShapes.begin(), kShapes.end(), [va_fourcc](const auto &shape) {
    return shape.va_fourcc == va_fourcc;
  });
  return it == kShapes.end() ? nullptr : &*it;
}

using Yuv = std::array<std::uint16_t, 3>;

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

void write_rgb(const Shape &shape, std::uint8_t *out, const std::uint32_t *argb,
               std::uint32_t width)
{
  for (std::uint32_t x = 0; x < width; ++x, out += 4) {
    if (shape.bits == 8) {
      for (unsigned c = 0; c < 4; ++c)
        out[shape.parts[c].offset] =
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

// The driver's image, mapped.
struct Target {
  const VAImage &image;
  std::uint8_t *data;
  [[nodiscard]] std::uint8_t *row(unsigned plane, std::uint32_t y) const
  {
    return data + image.offsets[plane] + static_cast<std::size_t>(image.pitches[plane]) * y;
  }
};

void write_yuv(const Shape &shape, const Target &target, std::uint32_t y, const std::uint32_t *argb,
               std::uint32_t width, const Colours &colours)
{
  for (std::uint32_t x = 0; x < width; ++x) {
    const Yuv yuv = to_yuv(argb[x], colours, shape.bits);
    for (unsigned c = 0; c < yuv.size(); ++c) {
      const Samples &part = shape.parts[c];
      const unsigned across = c == 0 ? 1 : 2, down = part.plane == 0 ? 1 : 2;
      if (x % across == 0 && y % down == 0)
        store(target.row(part.plane, y / down) + part.offset +
                  static_cast<std::size_t>(x) / across * part.step,
              yuv[c], shape.bits);
    }
  }
}

// Checks that the driver's image is large enough for the picture.
bool fits(const FourccInfo &info, const VAImage &image, const Picture &picture)
{
  if (image.num_planes < info.n_planes || image.width < picture.width ||
      image.height < picture.height || picture.height == 0)
    return false;
  for (unsigned i = 0; i < info.n_planes; ++i) {
    const auto row_bytes = plane_row_bytes(info.planes[i], picture.width);
    const auto rows = plane_rows(info.planes[i], picture.height);
    const auto end = image.offsets[i] + std::uint64_t{image.pitches[i]} * (rows - 1) + row_bytes;
    if (image.pitches[i] < row_bytes || end > image.data_size)
      return false;
  }
  return true;
}

// Returns false if the image has another size or an unknown format.
bool write_image(const Target &target, const Picture &picture, const Colours &colours)
{
  const auto *shape = find_shape(target.image.format.fourcc);
  const auto *format = format_by_va(target.image.format.fourcc);
  if (!shape || !format || !fits(*fourcc_info(format->drm_fourcc), target.image, picture))
    return false;
  for (std::uint32_t y = 0; y < picture.height; ++y) {
    const auto *row = picture.argb.data() + static_cast<std::size_t>(y) * picture.width;
    if (format->model == Model::Rgb)
      write_rgb(*shape, target.row(0, y), row, picture.width);
    else
      write_yuv(*shape, target, y, row, picture.width, colours);
  }
  return true;
}

} // namespace

bool can_write(std::uint32_t va_fourcc)
{
  return find_shape(va_fourcc) != nullptr;
}

Result<std::uint64_t> Uploader::fill(const VAImage &image, const Picture &picture,
                                     const Colours &colours)
{
  void *data = nullptr;
  const VAStatus status = vaMapBuffer(display_->count(), image.buf, &data);
  if (status != VA_STATUS_SUCCESS)
    return display_->error(ErrorCode::Device, "vaMapBuffer", status);
  const bool written = write_image({image, static_cast<std::uint8_t *>(data)}, picture, colours);
  (void)vaUnmapBuffer(display_->count(), image.buf);
  if (!written)
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
