// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads a picture at the tensor's size, one row of R, G and B at a time (preprocess.hpp, steps 1 to
// 3).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <gst/drm/core/format.hpp>
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

// Where the samples of one component of YCbCr are: from byte `offset` of a row on, every `step`
// bytes. Step 0: there are none.
struct Samples {
  std::uint8_t plane = 0;
  std::uint8_t offset = 0;
  std::uint8_t step = 0;
};

// Planes and their subsampling are in FourccInfo.
struct PixelFormat {
  std::uint32_t fourcc = 0;
  bool blue_first = false;      // RGB, in memory
  std::array<Samples, 3> yuv{}; // Y, Cb and Cr
  std::uint8_t bits = 8;        // of a sample: 8 in a byte, 10 or 16 in a word
};

class PictureReader {
public:
  // What create() takes as PictureFormat::fourcc.
  static std::vector<std::uint32_t> fourccs();
  static Result<PictureReader> create(const PictureFormat &format, std::uint32_t out_width,
                                      std::uint32_t out_height, const RowLoops &loops);

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
  // A component, or Cb and Cr in neighbouring bytes: two neighbouring rows at the tensor's width.
  // The next row of the output often needs one or both of them again.
  struct Scaled {
    Samples from;
    std::uint32_t parts = 1; // components
    RowPicks picks;
    std::vector<std::uint8_t> unpacked; // one row of samples; empty if they lie so in the picture
    std::array<std::array<std::vector<Centred>, 2>, 2> rows; // of each part
    std::array<std::int64_t, 2> kept{-1, -1}; // number of the row; -1 if there is none
  };

  PictureReader(const PictureFormat &format, const PixelFormat &pixels, std::uint32_t out_width,
                std::uint32_t out_height, const RowLoops &loops);
  void make_yuv();
  void make_chroma();
  void add_scaled(Samples from, std::uint32_t parts, const Axis &columns, std::uint32_t samples);
  void scale_row(std::size_t index, const PictureView &picture, std::uint32_t row);
  void scale_rows(std::size_t index, const PictureView &picture, std::uint32_t y);
  [[nodiscard]] CentredRows scaled_rows(std::size_t index, std::size_t part, std::uint32_t y) const;
  [[nodiscard]] CentredRows chroma_rows(std::size_t component, std::uint32_t y) const;
  void read_yuv(const PictureView &picture, std::uint32_t y);
  void read_rgb(const PictureView &picture, std::uint32_t y);
  [[nodiscard]] std::uint32_t row_bytes(std::size_t plane) const noexcept
  {
    return plane_row_bytes(info_->planes[plane], format_.width);
  }

  PictureFormat format_;
  const PixelFormat *pixels_;
  const FourccInfo *info_;
  const RowLoops *loops_;
  ColourFactors factors_;
  Axis columns_, rows_;
  Axis chroma_rows_;
  std::vector<Scaled> scaled_;                 // Y, then chroma; empty for RGB
  std::vector<Centred> grey_;                  // a row of chroma for pictures without any
  std::array<std::vector<Blended>, 3> source_; // three channels, at the picture's width
  std::array<std::vector<std::uint8_t>, 3> levels_;
};

} // namespace gstdrm::metis
