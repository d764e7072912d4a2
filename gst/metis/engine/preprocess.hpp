// SPDX-License-Identifier: LGPL-2.1-or-later
// From a frame's planes to a model's input tensor in one pass: resize, colour conversion,
// normalisation, quantisation and layout.
//
// The exact arithmetic. All divisions and shifts round towards minus infinity. A row of a plane has
// S samples; a picture of P pixels becomes O pixels of the tensor, without padding and letterbox
// bars:
//
// 0. A sample of b > 8 bits becomes min((sample + 2^(b-9)) / 2^(b-8), 255). Those of P010 and P012
//    have b = 16, with zeros in the low bits.
// 1. Position of pixel x, in 1/128 of a sample, limited to 0 .. 128 * (S - 1):
//      one sample for each pixel       ((2x + 1) * P * 64 * 2 + O) / (2 * O) - 64
//      chroma at the first of two      ((2x + 1) * P * 32 * 2 + O) / (2 * O) - 32
//      chroma between two              ((2x + 1) * P * 32 * 2 + O) / (2 * O) - 64
//    so that pixel centres map to pixel centres, rounded to the nearest. By default chroma samples
//    are at the left luma sample of a pair, and half-way between two rows, as in H.264 and H.265.
// 2. Bilinear value, with sample i = position / 128, the next sample, and w = position % 128 in
//    each direction: S = sum of sample * weight * weight, weights w and 128 - w. Exact, 22 bits.
// 3. YCbCr, and Y alone with Cb = Cr = 128: each is (S + 64) / 128, in 1/128 of a level. With
//    Y' = Y - 16 * 128 (limited range) or Y, Cb' = Cb - 128 * 128, Cr' likewise, and
//    M(a, b) = (a * b + 2^14) / 2^15:
//      R = (M(Y', ky) + M(Cr', krv) + 16) / 32
//      G = (M(Y', ky) - M(Cb', kgu) - M(Cr', kgv) + 16) / 32
//      B = (M(Y', ky) + M(Cb', kbu) + 16) / 32, each limited to 0 .. 255.
//    The factors are 2^13 times those of the matrix, rounded to the nearest: with Kg = 1 - Kr - Kb,
//    l = 255/219 and c = 255/224 (limited range) or both 1: ky = l, krv = 2 (1 - Kr) c,
//    kbu = 2 (1 - Kb) c, kgu = 2 Kb (1 - Kb) / Kg c, kgv = 2 Kr (1 - Kr) / Kg c. Kr and Kb are
//    0.299 and 0.114 (BT.601), 0.2126 and 0.0722 (BT.709), 0.2627 and 0.0593 (BT.2020), 0.212 and
//    0.087 (SMPTE 240M), 0.30 and 0.11 (FCC).
//    RGB: a channel is (S + 2^13) / 2^14. Alpha is ignored.
// 4. Mean and scale are in the order of the tensor (for BGR, B is first).
//    Float tensors: (channel - mean) * scale, two operations of binary32, without quantisation.
//    Integer tensors:
//    floor((channel - mean) * scale / quantisation.scale + zero_point + 0.5)
//    in binary64, from left to right, limited to the type's range; without a quantisation its scale
//    is 1 and its zero point 0.
//
// Padding is filled with the zero point (0 in float tensors), letterbox bars with ImageInput::bars
// after step 4.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gst/drm/core/luma_weights.hpp>
#include <gst/drm/core/result.hpp>

#include "model.hpp"

namespace gstdrm::metis {

using ColorMatrix = LumaMatrix;

// A frame in CPU memory: linear planes.
struct PictureView {
  std::uint32_t fourcc = 0; // DRM_FORMAT_*
  std::uint32_t width = 0;  // pixels
  std::uint32_t height = 0;
  std::array<const std::uint8_t *, 3> planes{};
  std::array<std::uint32_t, 3> strides{}; // bytes
  ColorMatrix matrix = ColorMatrix::Bt601;
  bool full_range = false;
};

// A part of the picture, whose pixels stay where they are. `x` and `y` are even, because pixels may
// share chroma with their neighbours.
PictureView part_of(const PictureView &picture, std::uint32_t x, std::uint32_t y,
                    std::uint32_t width, std::uint32_t height) noexcept;

// The place of the picture in the input tensor without its padding, to convert boxes back:
// x_tensor = x_picture * scale_x + offset_x, in pixels.
struct Placement {
  float scale_x = 1, scale_y = 1;
  float offset_x = 0, offset_y = 0;
};

// Where the samples of a picture are.
struct Sampling {
  std::uint32_t par_n = 1, par_d = 1; // pixel aspect ratio
  bool chroma_left = true;            // at the left one of two pixels; false: between both
  bool chroma_top = false;            // at the upper one of two rows; false: between both
};

// Makes input tensors of pictures of one format and size. create() allocates all tables and rows,
// so that run() allocates nothing and makes no system call. One thread at a time.
class Preprocessor {
public:
  // What create() takes as `fourcc`.
  static std::vector<std::uint32_t> readable_fourccs();
  // Reads Model::image and Model::input, which needs four dimensions, with N = 1 and C = 3 without
  // its padding.
  static Result<Preprocessor> create(const Model &model, std::uint32_t fourcc, std::uint32_t width,
                                     std::uint32_t height, ColorMatrix matrix, bool full_range,
                                     const Sampling &sampling = {});
  Preprocessor(Preprocessor &&other) noexcept;
  Preprocessor &operator=(Preprocessor &&other) noexcept;
  ~Preprocessor();

  // Returns false if format, size or colours are not those of create(), a plane is missing, or a
  // stride is shorter than a row.
  [[nodiscard]] bool accepts(const PictureView &picture) const noexcept;
  // Writes all tensor_bytes() of `tensor`, which is aligned for the tensor's type, and does not
  // read it. Reads no byte beyond the planes' pixels. Logs a picture that is not accepted, and
  // makes a tensor of the letterbox's colour.
  void run(const PictureView &picture, std::byte *tensor) noexcept;

  [[nodiscard]] Placement placement() const noexcept;
  [[nodiscard]] std::size_t tensor_bytes() const noexcept;

private:
  struct State;
  explicit Preprocessor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace gstdrm::metis
