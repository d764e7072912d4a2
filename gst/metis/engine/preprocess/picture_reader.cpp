// SPDX-License-Identifier: LGPL-2.1-or-later
#include "picture_reader.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <drm_fourcc.h>

#include <gst/drm/core/format.hpp>
#include <gst/drm/core/luma_weights.hpp>

namespace gstdrm::metis {

namespace {

struct FormatRow {
  std::uint32_t fourcc;
  std::uint32_t pixel_bytes; // of the first plane
  bool blue_first;           // in memory; for YCbCr: Cb before Cr
  std::uint32_t n_planes = 1;
};

// drm_fourcc.h names the bytes of a little-endian word from the highest: XR24 is B, G, R, X in
// memory.
constexpr FormatRow kFormats[] = {
    {DRM_FORMAT_NV12, 1, true, 2},    {DRM_FORMAT_YUV420, 1, true, 3},
    {DRM_FORMAT_YVU420, 1, false, 3}, {DRM_FORMAT_XRGB8888, 4, true},
    {DRM_FORMAT_ARGB8888, 4, true},   {DRM_FORMAT_XBGR8888, 4, false},
    {DRM_FORMAT_ABGR8888, 4, false},  {DRM_FORMAT_RGB888, 3, true},
    {DRM_FORMAT_BGR888, 3, false},
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

std::string text_of(const PictureFormat &format)
{
  return fourcc_to_string(format.fourcc) + " " + std::to_string(format.width) + "x" +
         std::to_string(format.height);
}

} // namespace

Result<PictureReader> PictureReader::create(const PictureFormat &format, std::uint32_t out_width,
                                            std::uint32_t out_height, const RowLoops &loops)
{
  const auto *found =
      std::find_if(std::begin(kFormats), std::end(kFormats),
                   [&](const FormatRow &row) { return row.fourcc == format.fourcc; });
  if (found == std::end(kFormats))
    return Error{ErrorCode::Format,
                 "No tensor can be made of " + fourcc_to_string(format.fourcc) +
                     " frames: only NV12, YU12, YV12, XR24, AR24, XB24, AB24, RG24 and BG24 are "
                     "read. Convert the frames before."};
  PictureReader reader(format, out_width, out_height, loops);
  reader.pixel_bytes_ = found->pixel_bytes;
  reader.blue_first_ = found->blue_first;
  reader.n_planes_ = found->n_planes;
  if (found->n_planes > 1)
    reader.make_chroma();
  else
    for (auto &row : reader.source_) // with one more sample, of weight 0, for the last pair
      row.resize(std::size_t{format.width} + 1);
  return reader;
}

PictureReader::PictureReader(const PictureFormat &format, std::uint32_t out_width,
                             std::uint32_t out_height, const RowLoops &loops)
    : format_(format), loops_(&loops), factors_(colour_factors(format.matrix, format.full_range)),
      columns_(make_axis(format.width, out_width, format.width, Siting::Pixel)),
      rows_(make_axis(format.height, out_height, format.height, Siting::Pixel))
{
  for (auto &row : levels_)
    row.resize(out_width);
}

void PictureReader::make_chroma()
{
  const auto out_width = static_cast<std::uint32_t>(columns_.first.size());
  const auto out_height = static_cast<std::uint32_t>(rows_.first.size());
  chroma_width_ = (format_.width + 1) / 2;
  const auto siting = [](bool on_first) {
    return on_first ? Siting::HalfOnFirst : Siting::HalfBetween;
  };
  chroma_rows_ = make_axis(format_.height, out_height, (format_.height + 1) / 2,
                           siting(format_.sampling.chroma_top));
  const Axis chroma_columns =
      make_axis(format_.width, out_width, chroma_width_, siting(format_.sampling.chroma_left));
  make_scaled(0, columns_, format_.width, 1);
  for (std::size_t plane = 1; plane < n_planes_; ++plane)
    make_scaled(plane, chroma_columns, chroma_width_, chroma_parts());
}

void PictureReader::make_scaled(std::size_t plane, const Axis &columns, std::uint32_t samples,
                                std::uint32_t parts)
{
  ScaledPlane &scaled = scaled_[plane];
  scaled.picks = RowPicks(columns, samples, parts);
  for (std::size_t part = 0; part < parts; ++part)
    for (auto &row : scaled.rows[part])
      row.resize(padded_to_block(columns.first.size()));
}

std::uint32_t PictureReader::plane_row_bytes(std::size_t plane) const noexcept
{
  return plane == 0 ? format_.width * pixel_bytes_ : chroma_width_ * (chroma_parts());
}

bool PictureReader::accepts(const PictureView &picture) const noexcept
{
  for (std::size_t plane = 0; plane < n_planes_; ++plane)
    if (!picture.planes[plane] || picture.strides[plane] < plane_row_bytes(plane))
      return false;
  const bool colours_fit = !chroma_width_ || (picture.matrix == format_.matrix &&
                                              picture.full_range == format_.full_range);
  return picture.fourcc == format_.fourcc && picture.width == format_.width &&
         picture.height == format_.height && colours_fit;
}

Result<void> PictureReader::check(const PictureView &picture) const
{
  if (accepts(picture))
    return {};
  const PictureFormat given{picture.fourcc, picture.width,      picture.height,
                            picture.matrix, picture.full_range, {}};
  std::string why = "was promised with other colours (matrix or range)";
  if (given.fourcc != format_.fourcc || given.width != format_.width ||
      given.height != format_.height)
    why = "was promised as " + text_of(format_);
  for (std::size_t plane = 0; plane < n_planes_; ++plane) {
    if (!picture.planes[plane])
      why = "has no plane " + std::to_string(plane);
    else if (picture.strides[plane] < plane_row_bytes(plane))
      why = "has a stride of " + std::to_string(picture.strides[plane]) + " bytes in plane " +
            std::to_string(plane) + ", where a row has " + std::to_string(plane_row_bytes(plane));
  }
  return Error{ErrorCode::Layout, "No tensor was made of a frame, " + text_of(given) + ": it " +
                                      why + ". Negotiate the caps again."};
}

void PictureReader::start_picture() noexcept
{
  for (ScaledPlane &scaled : scaled_)
    scaled.kept = {-1, -1};
}

void PictureReader::scale_row(std::size_t plane, const PictureView &picture, std::uint32_t row)
{
  ScaledPlane &scaled = scaled_[plane];
  const std::size_t place = row % 2;
  if (scaled.kept[place] == row)
    return;
  scaled.kept[place] = row;
  const std::uint8_t *from = picture.planes[plane] + std::size_t{picture.strides[plane]} * row;
  Centred *const out[2] = {scaled.rows[0][place].data(), scaled.rows[1][place].data()};
  if (plane == 0 || chroma_parts() == 1)
    loops_->pick(from, scaled.picks.table(), out[0]);
  else
    loops_->pick_2(from, scaled.picks.table(), out);
}

// Does not scale a second row of weight 0, which may be below the last row.
void PictureReader::scale_rows(std::size_t plane, const PictureView &picture, std::uint32_t y)
{
  const Axis &rows = plane == 0 ? rows_ : chroma_rows_;
  scale_row(plane, picture, rows.first[y]);
  if (rows.weight[y] != 0)
    scale_row(plane, picture, rows.first[y] + 1);
}

CentredRows PictureReader::scaled_rows(std::size_t plane, std::size_t part, std::uint32_t y) const
{
  const Axis &rows = plane == 0 ? rows_ : chroma_rows_;
  const auto &scaled = scaled_[plane].rows[part];
  const std::size_t upper = rows.first[y] % 2;
  const int weight = rows.weight[y];
  return {scaled[upper].data(), scaled[weight == 0 ? upper : 1 - upper].data(), weight};
}

void PictureReader::read_yuv(const PictureView &picture, std::uint32_t y)
{
  for (std::size_t plane = 0; plane < n_planes_; ++plane)
    scale_rows(plane, picture, y);
  CentredRows chroma[2] = {scaled_rows(1, 0, y),
                           chroma_parts() == 2 ? scaled_rows(1, 1, y) : scaled_rows(2, 0, y)};
  if (!blue_first_)
    std::swap(chroma[0], chroma[1]);
  std::uint8_t *const rgb[3] = {levels_[0].data(), levels_[1].data(), levels_[2].data()};
  loops_->to_rgb(scaled_rows(0, 0, y), chroma, factors_, rgb, columns_.first.size());
}

void PictureReader::read_rgb(const PictureView &picture, std::uint32_t y)
{
  const Source pixels = rows_at(picture, 0, rows_, y, format_.height);
  const auto blend = pixel_bytes_ == 3 ? loops_->blend_3 : loops_->blend_4;
  Blended *const channels[3] = {source_[0].data(), source_[1].data(), source_[2].data()};
  blend(pixels.upper, pixels.lower, pixels.weight, channels, format_.width);
  for (std::size_t i = 0; i < 3; ++i) {
    loops_->lerp_to_level(source_[i].data(), columns_.first.data(), columns_.weight.data(),
                          levels_[blue_first_ ? 2 - i : i].data(), columns_.first.size());
  }
}

std::array<const std::uint8_t *, 3> PictureReader::read_row(const PictureView &picture,
                                                            std::uint32_t y) noexcept
{
  if (chroma_width_)
    read_yuv(picture, y);
  else
    read_rgb(picture, y);
  return {levels_[0].data(), levels_[1].data(), levels_[2].data()};
}

} // namespace gstdrm::metis
