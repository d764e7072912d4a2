// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads a picture at the tensor's size, one row of R, G and B at a time (preprocess.hpp, steps 1 to
// 3).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "axis.hpp"
#include "engine/preprocess.hpp"
#include "rows.hpp"

namespace gstdrm::metis {

struct PictureFormat {
  std::uint32_t fourcc = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  ColorMatrix matrix = ColorMatrix::Bt601;
  bool full_range = false;
  Sampling sampling;
};

class PictureReader {
public:
  static Result<PictureReader> create(const PictureFormat &format, std::uint32_t out_width,
                                      std::uint32_t out_height, const RowLoops &loops);

  // The Error says why accepts() is false.
  [[nodiscard]] Result<void> check(const PictureView &picture) const;
  [[nodiscard]] bool accepts(const PictureView &picture) const noexcept;

  [[nodiscard]] std::uint32_t n_rows() const noexcept
  {
    return static_cast<std::uint32_t>(rows_.first.size());
  }
  // Call it before the first row of each picture: drops the scaled rows of the last picture.
  void start_picture() noexcept;
  // R, G and B of one row of the output, valid until the next call. accepts() must be true for the
  // picture.
  std::array<const std::uint8_t *, 3> read_row(const PictureView &picture,
                                               std::uint32_t y) noexcept;

private:
  // Two neighbouring rows of a plane at the tensor's width. The next row of the output often needs
  // one or both of them again.
  struct ScaledPlane {
    RowPicks picks;
    std::array<std::array<std::vector<Centred>, 2>, 2> rows; // for each byte of a sample
    std::array<std::int64_t, 2> kept{-1, -1}; // number of the row; -1 if there is none
  };

  PictureReader(const PictureFormat &format, std::uint32_t out_width, std::uint32_t out_height,
                const RowLoops &loops);
  void make_chroma();
  void make_scaled(std::size_t plane, const Axis &columns, std::uint32_t samples,
                   std::uint32_t parts);
  void scale_row(std::size_t plane, const PictureView &picture, std::uint32_t row);
  void scale_rows(std::size_t plane, const PictureView &picture, std::uint32_t y);
  [[nodiscard]] CentredRows scaled_rows(std::size_t plane, std::size_t part, std::uint32_t y) const;
  void read_yuv(const PictureView &picture, std::uint32_t y);
  void read_rgb(const PictureView &picture, std::uint32_t y);
  // Bytes in a sample of a chroma plane.
  [[nodiscard]] std::uint32_t chroma_parts() const noexcept { return n_planes_ == 2 ? 2 : 1; }
  [[nodiscard]] std::uint32_t plane_row_bytes(std::size_t plane) const noexcept;

  PictureFormat format_;
  const RowLoops *loops_;
  ColourFactors factors_;
  std::uint32_t chroma_width_ = 0; // 0 for RGB
  std::uint32_t n_planes_ = 1;
  std::uint32_t pixel_bytes_ = 1;
  bool blue_first_ = false; // in the picture
  Axis columns_, rows_;
  Axis chroma_rows_;
  std::array<ScaledPlane, 3> scaled_;          // one per plane of YCbCr
  std::array<std::vector<Blended>, 3> source_; // three channels, at the picture's width
  std::array<std::vector<std::uint8_t>, 3> levels_;
};

} // namespace gstdrm::metis
