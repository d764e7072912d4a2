// SPDX-License-Identifier: LGPL-2.1-or-later
#include "picture_reader.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <drm_fourcc.h>

#include <gst/drm/core/drm_facts.hpp>
#include <gst/drm/core/luma_weights.hpp>

namespace gstdrm::metis {

namespace {

// Y, and a plane of pairs. `cb` is the place of Cb in a pair.
constexpr PixelFormat semi(std::uint32_t fourcc, std::uint8_t cb, std::uint8_t bits = 8)
{
  const std::uint8_t n = bits == 8 ? 1 : 2; // bytes
  const auto in_pair = [n](int place) {
    return Samples{1, static_cast<std::uint8_t>(place * n), static_cast<std::uint8_t>(2 * n)};
  };
  return {fourcc, false, {Samples{0, 0, n}, in_pair(cb), in_pair(1 - cb)}, bits};
}

constexpr PixelFormat planar(std::uint32_t fourcc, std::uint8_t cb, std::uint8_t bits = 8)
{
  const std::uint8_t n = bits == 8 ? 1 : 2;
  const auto cr = static_cast<std::uint8_t>(3 - cb);
  return {fourcc, false, {Samples{0, 0, n}, Samples{cb, 0, n}, Samples{cr, 0, n}}, bits};
}

// Two pixels in four bytes: `y` and `cb` are the places of the first Y and of Cb.
constexpr PixelFormat packed(std::uint32_t fourcc, std::uint8_t y, std::uint8_t cb)
{
  const auto cr = static_cast<std::uint8_t>((cb + 2) % 4);
  return {fourcc, false, {Samples{0, y, 2}, Samples{0, cb, 4}, Samples{0, cr, 4}}};
}

// drm_fourcc.h names the bytes of a little-endian word from the highest: XR24 is B, G, R, X in
// memory.
constexpr PixelFormat kFormats[] = {
    semi(DRM_FORMAT_NV12, 0),      semi(DRM_FORMAT_NV21, 1),
    semi(DRM_FORMAT_NV16, 0),      semi(DRM_FORMAT_NV61, 1),
    semi(DRM_FORMAT_NV24, 0),      planar(DRM_FORMAT_YUV420, 1),
    planar(DRM_FORMAT_YVU420, 2),  planar(DRM_FORMAT_YUV422, 1),
    planar(DRM_FORMAT_YUV444, 1),  packed(DRM_FORMAT_YUYV, 0, 1),
    packed(DRM_FORMAT_YVYU, 0, 3), packed(DRM_FORMAT_UYVY, 1, 0),
    packed(DRM_FORMAT_VYUY, 1, 2), {DRM_FORMAT_R8, false, {Samples{0, 0, 1}}},
    semi(DRM_FORMAT_P010, 0, 16),  semi(DRM_FORMAT_P012, 0, 16),
    semi(DRM_FORMAT_P016, 0, 16),  planar(kFourccS010, 1, 10),
    planar(kFourccS210, 1, 10),    planar(kFourccS410, 1, 10),
    {DRM_FORMAT_XRGB8888, true},   {DRM_FORMAT_ARGB8888, true},
    {DRM_FORMAT_XBGR8888, false},  {DRM_FORMAT_ABGR8888, false},
    {DRM_FORMAT_RGB888, true},     {DRM_FORMAT_BGR888, false},
};

// A factor of step 3 in 1/2^13.
std::int16_t factor(double value) noexcept
{
  return static_cast<std::int16_t>(std::floor(value * (1 << 13) + 0.5));
}

ColourFactors colour_factors(ColorMatrix matrix, bool full_range) noexcept
{
  const auto [kr, kb] = luma_of(matrix);
  const double kg = 1 - kr - kb;
  const double luma = full_range ? 1 : 255.0 / 219;
  const double chroma = full_range ? 1 : 255.0 / 224;
  ColourFactors factors;
  factors.black = full_range ? 0 : 16 * 128;
  factors.ky = factor(luma);
  factors.krv = factor(2 * (1 - kr) * chroma);
  factors.kbu = factor(2 * (1 - kb) * chroma);
  factors.kgu = factor(2 * kb * (1 - kb) / kg * chroma);
  factors.kgv = factor(2 * kr * (1 - kr) / kg * chroma);
  return factors;
}

struct Source {
  const std::uint8_t *upper;
  const std::uint8_t *lower;
  int weight;
};

// The two rows of a plane next to a row of the output. Below the last row there is none, and its
// weight is 0.
Source rows_at(const PictureView &picture, std::size_t plane, const Axis &rows, std::uint32_t y,
               std::uint32_t n_rows) noexcept
{
  const std::uint32_t first = rows.first[y];
  const std::uint32_t second = std::min(first + 1, n_rows - 1);
  const std::uint8_t *base = picture.planes[plane];
  const std::size_t stride = picture.strides[plane];
  return {base + stride * first, base + stride * second, rows.weight[y]};
}

} // namespace

std::vector<std::uint32_t> PictureReader::fourccs()
{
  std::vector<std::uint32_t> all;
  for (const PixelFormat &row : kFormats)
    all.push_back(row.fourcc);
  return all;
}

Result<PictureReader> PictureReader::create(const PictureFormat &format, std::uint32_t out_width,
                                            std::uint32_t out_height, const RowLoops &loops)
{
  const auto *found =
      std::find_if(std::begin(kFormats), std::end(kFormats),
                   [&](const PixelFormat &row) { return row.fourcc == format.fourcc; });
  if (found == std::end(kFormats)) {
    std::string known;
    for (const PixelFormat &row : kFormats)
      known += (known.empty() ? "" : ", ") + fourcc_to_string(row.fourcc);
    return Error{ErrorCode::Format, "No tensor can be made of " + fourcc_to_string(format.fourcc) +
                                        " frames: what is read is " + known +
                                        ". Convert the frames before."};
  }
  PictureReader reader(format, *found, out_width, out_height, loops);
  if (found->yuv[0].step > 0)
    reader.make_yuv();
  else
    for (auto &row : reader.source_) // with one more sample, of weight 0, for the last pair
      row.resize(std::size_t{format.width} + 1);
  return reader;
}

PictureReader::PictureReader(const PictureFormat &format, const PixelFormat &pixels,
                             std::uint32_t out_width, std::uint32_t out_height,
                             const RowLoops &loops)
    : format_(format), pixels_(&pixels), info_(fourcc_info(format.fourcc)), loops_(&loops),
      factors_(colour_factors(format.matrix, format.full_range)),
      columns_(make_axis(format.width, out_width, format.width, Siting::Pixel)),
      rows_(make_axis(format.height, out_height, format.height, Siting::Pixel))
{
  for (auto &row : levels_)
    row.resize(out_width);
}

void PictureReader::make_yuv()
{
  add_scaled(pixels_->yuv[0], 1, columns_, format_.width);
  if (pixels_->yuv[1].step > 0)
    make_chroma();
  else
    grey_.resize(columns_.first.size());
}

void PictureReader::make_chroma()
{
  const auto siting = [](std::uint32_t pixels, bool on_first) {
    if (pixels == 1)
      return Siting::Pixel;
    return on_first ? Siting::HalfOnFirst : Siting::HalfBetween;
  };
  // a sample has the block's pixels where chroma is in the first plane, and else its own plane's
  const std::uint32_t across = info_->planes[0].block_width * info_->planes[1].hsub;
  const std::uint32_t down = info_->planes[1].vsub;
  const std::uint32_t width = (format_.width + across - 1) / across;
  const std::uint32_t height = (format_.height + down - 1) / down;
  chroma_rows_ = make_axis(format_.height, static_cast<std::uint32_t>(rows_.first.size()), height,
                           siting(down, format_.sampling.chroma_top));
  const Axis columns = make_axis(format_.width, static_cast<std::uint32_t>(columns_.first.size()),
                                 width, siting(across, format_.sampling.chroma_left));
  const auto &[luma, cb, cr] = pixels_->yuv;
  if (cb.plane == cr.plane && cb.step == 2)
    return add_scaled({cb.plane, 0, 2}, 2, columns, width);
  add_scaled(cb, 1, columns, width);
  add_scaled(cr, 1, columns, width);
}

void PictureReader::add_scaled(Samples from, std::uint32_t parts, const Axis &columns,
                               std::uint32_t samples)
{
  Scaled &scaled = scaled_.emplace_back();
  scaled.from = from;
  scaled.parts = parts;
  scaled.picks = RowPicks(columns, samples, parts);
  if (from.step != parts)
    scaled.unpacked.resize(samples);
  for (std::size_t part = 0; part < parts; ++part)
    for (auto &row : scaled.rows[part])
      row.resize(padded_to_block(columns.first.size()));
}

bool PictureReader::accepts(const PictureView &picture) const noexcept
{
  for (std::size_t plane = 0; plane < info_->n_planes; ++plane)
    if (!picture.planes[plane] || picture.strides[plane] < row_bytes(plane))
      return false;
  const bool colours_fit = scaled_.empty() || (picture.matrix == format_.matrix &&
                                               picture.full_range == format_.full_range);
  return picture.fourcc == format_.fourcc && picture.width == format_.width &&
         picture.height == format_.height && colours_fit;
}

void PictureReader::start_picture() noexcept
{
  for (Scaled &scaled : scaled_)
    scaled.kept = {-1, -1};
}

void PictureReader::scale_row(std::size_t index, const PictureView &picture, std::uint32_t row)
{
  Scaled &scaled = scaled_[index];
  const std::size_t place = row % 2;
  if (scaled.kept[place] == row)
    return;
  scaled.kept[place] = row;
  const auto &[plane, offset, step] = scaled.from;
  const std::uint8_t *from =
      picture.planes[plane] + std::size_t{picture.strides[plane]} * row + offset;
  if (auto &unpacked = scaled.unpacked; !unpacked.empty()) {
    const auto unpack = pixels_->bits == 8    ? loops_->unpack
                        : pixels_->bits == 10 ? loops_->unpack_10
                                              : loops_->unpack_16;
    unpack(from, step, unpacked.data(), unpacked.size());
    from = unpacked.data();
  }
  Centred *const out[2] = {scaled.rows[0][place].data(), scaled.rows[1][place].data()};
  if (scaled.parts == 1)
    loops_->pick(from, scaled.picks.table(), out[0]);
  else
    loops_->pick_2(from, scaled.picks.table(), out);
}

// Does not scale a second row of weight 0, which may be below the last row.
void PictureReader::scale_rows(std::size_t index, const PictureView &picture, std::uint32_t y)
{
  const Axis &rows = index == 0 ? rows_ : chroma_rows_;
  scale_row(index, picture, rows.first[y]);
  if (rows.weight[y] != 0)
    scale_row(index, picture, rows.first[y] + 1);
}

CentredRows PictureReader::scaled_rows(std::size_t index, std::size_t part, std::uint32_t y) const
{
  const Axis &rows = index == 0 ? rows_ : chroma_rows_;
  const auto &scaled = scaled_[index].rows[part];
  const std::size_t upper = rows.first[y] % 2;
  const int weight = rows.weight[y];
  return {scaled[upper].data(), scaled[weight == 0 ? upper : 1 - upper].data(), weight};
}

// Of Cb (1) or Cr (2).
CentredRows PictureReader::chroma_rows(std::size_t component, std::uint32_t y) const
{
  if (!grey_.empty())
    return {grey_.data(), grey_.data(), 0};
  if (scaled_.size() == 2) // a pair
    return scaled_rows(1, pixels_->yuv[component].offset, y);
  return scaled_rows(component, 0, y);
}

void PictureReader::read_yuv(const PictureView &picture, std::uint32_t y)
{
  for (std::size_t index = 0; index < scaled_.size(); ++index)
    scale_rows(index, picture, y);
  const CentredRows chroma[2] = {chroma_rows(1, y), chroma_rows(2, y)};
  std::uint8_t *const rgb[3] = {levels_[0].data(), levels_[1].data(), levels_[2].data()};
  loops_->to_rgb(scaled_rows(0, 0, y), chroma, factors_, rgb, columns_.first.size());
}

void PictureReader::read_rgb(const PictureView &picture, std::uint32_t y)
{
  const Source pixels = rows_at(picture, 0, rows_, y, format_.height);
  const auto blend = info_->planes[0].block_bytes == 3 ? loops_->blend_3 : loops_->blend_4;
  Blended *const channels[3] = {source_[0].data(), source_[1].data(), source_[2].data()};
  blend(pixels.upper, pixels.lower, pixels.weight, channels, format_.width);
  for (std::size_t i = 0; i < 3; ++i) {
    loops_->lerp_to_level(source_[i].data(), columns_.first.data(), columns_.weight.data(),
                          levels_[pixels_->blue_first ? 2 - i : i].data(), columns_.first.size());
  }
}

std::array<const std::uint8_t *, 3> PictureReader::read_row(const PictureView &picture,
                                                            std::uint32_t y) noexcept
{
  if (!scaled_.empty())
    read_yuv(picture, y);
  else
    read_rgb(picture, y);
  return {levels_[0].data(), levels_[1].data(), levels_[2].data()};
}

} // namespace gstdrm::metis
