// SPDX-License-Identifier: LGPL-2.1-or-later
// From a frame's planes to a model's input tensor in one pass: resize, colour conversion,
// normalisation, quantisation and layout.
//
// The arithmetic, exactly; all divisions and shifts round towards minus infinity. A row of a plane
// has S samples, the content (the tensor's pixels without padding and letterbox bars) O pixels for
// a picture of P pixels:
//
// 1. Position of pixel x, in 1/128 of a sample, limited to 0 .. 128 * (S - 1):
//      luma and RGB, both directions   ((2x + 1) * P * 64 * 2 + O) / (2 * O) - 64
//      chroma on the first of two      ((2x + 1) * P * 32 * 2 + O) / (2 * O) - 32
//      chroma between two              ((2x + 1) * P * 32 * 2 + O) / (2 * O) - 64
//    that is: pixel centres map to pixel centres, rounded to the nearest. Where nothing else is
//    said, chroma samples lie on the left luma sample of a pair, and half-way between two rows
//    (what H.264 and H.265 assume).
// 2. Bilinear value, with sample i = position / 128, the next sample, and w = position % 128 in
//    each direction: S = sum of sample * weight * weight, weights w and 128 - w. Exact, 22 bits.
// 3. YCbCr: Y, Cb and Cr are (S + 64) / 128 each, 128 units a level. With Y' = Y - 16 * 128
// (limited
//    range) or Y, Cb' = Cb - 128 * 128, Cr' likewise, and M(a, b) = (a * b + 2^14) / 2^15:
//      R = (M(Y', ky) + M(Cr', krv) + 16) / 32
//      G = (M(Y', ky) - M(Cb', kgu) - M(Cr', kgv) + 16) / 32
//      B = (M(Y', ky) + M(Cb', kbu) + 16) / 32, each limited to 0 .. 255.
//    The factors are 2^13 times those of the matrix, rounded to the nearest: with Kg = 1 - Kr - Kb,
//    l = 255/219 and c = 255/224 (limited range) or both 1: ky = l, krv = 2 (1 - Kr) c,
//    kbu = 2 (1 - Kb) c, kgu = 2 Kb (1 - Kb) / Kg c, kgv = 2 Kr (1 - Kr) / Kg c. Kr and Kb are
//    0.299 and 0.114 (BT.601), 0.2126 and 0.0722 (BT.709), 0.2627 and 0.0593 (BT.2020), 0.212 and
//    0.087 (SMPTE 240M), 0.30 and 0.11 (FCC).
//    RGB: a channel is (S + 2^13) / 2^14. Alpha is not looked at.
// 4. Mean and scale are listed in the order of the tensor (of BGR, B has the first).
//    Float tensors: (channel - mean) * scale, two operations of binary32; a quantisation of such
//    a tensor is not applied. Integer tensors:
//    floor((channel - mean) * scale / quantisation.scale + zero_point + 0.5)
//    in binary64, from left to right, limited to the type's range; without a quantisation its scale
//    is 1 and its zero point 0.
//
// Padding is filled with the zero point (0 in float tensors), letterbox bars with black: channels
// of 0 after step 4.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <gst/drm/core/luma_weights.hpp>
#include <gst/drm/core/result.hpp>

#include "model.hpp"

namespace gstdrm::metis {

using ColorMatrix = LumaMatrix;

// A frame in CPU memory: linear planes of YCbCr 4:2:0, or one plane of RGB.
struct PictureView {
  std::uint32_t fourcc = 0; // DRM_FORMAT_*
  std::uint32_t width = 0;  // pixels
  std::uint32_t height = 0;
  std::array<const std::uint8_t *, 3> planes{};
  std::array<std::uint32_t, 3> strides{}; // bytes
  ColorMatrix matrix = ColorMatrix::Bt601;
  bool full_range = false;
};

// Where the picture lies in the input tensor's pixels, for boxes on their way back: x_tensor =
// x_picture * scale_x + offset_x. The pixels are counted without the tensor's padding.
struct Placement {
  float scale_x = 1, scale_y = 1;
  float offset_x = 0, offset_y = 0;
};

// What changes where the samples of a picture are seen.
struct Sampling {
  std::uint32_t par_n = 1, par_d = 1; // a pixel's width to its height
  bool chroma_left = true;            // on the left one of two pixels; false: between both
  bool chroma_top = false;            // on the upper one; false: between both
};

// Makes input tensors of pictures of one format and size. Has all tables and rows that it needs
// after create(): run() allocates nothing and makes no system call. One thread at a time.
class Preprocessor {
public:
  // `fourcc` is NV12, YU12, YV12, XR24, AR24, XB24, AB24, RG24 or BG24. Of the model, image and
  // input are read; input.dims has four dimensions, of which N is 1 and C without padding 3.
  static Result<Preprocessor> create(const Model &model, std::uint32_t fourcc, std::uint32_t width,
                                     std::uint32_t height, ColorMatrix matrix, bool full_range,
                                     const Sampling &sampling = {});
  Preprocessor(Preprocessor &&other) noexcept;
  Preprocessor &operator=(Preprocessor &&other) noexcept;
  ~Preprocessor();

  // Whether run() takes that picture: its format, size and colours are those of create(), no plane
  // is missing, and no stride is shorter than a row.
  [[nodiscard]] Result<void> check(const PictureView &picture) const;
  // Writes all tensor_bytes() of `tensor`, which is aligned for the tensor's type, and reads it
  // nowhere. Reads the planes' pixels row by row and no byte beyond them. A picture that check()
  // refuses is logged and gives a black tensor.
  void run(const PictureView &picture, std::byte *tensor) noexcept;

  [[nodiscard]] Placement placement() const noexcept;
  [[nodiscard]] std::size_t tensor_bytes() const noexcept;

private:
  struct State;
  explicit Preprocessor(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace gstdrm::metis
