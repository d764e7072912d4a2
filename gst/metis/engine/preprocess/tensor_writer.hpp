// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes rows of channels to a tensor: quantised, in its layout, with bars and padding around them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "axis.hpp"
#include "engine/model.hpp"
#include "quantiser.hpp"
#include "rows.hpp"

namespace gstdrm::metis {

// One dimension: `size` elements with values, of `total` elements in memory.
struct Span {
  std::size_t before = 0;
  std::size_t size = 0;
  std::size_t total = 0;
};

// N x H x W x C is one plane of rows with interleaved channels, N x C x H x W one plane per
// channel.
struct TensorPlan {
  Span height, width, channels;
  bool interleaved = false;
  bool is_float = false;
  std::size_t element_bytes = 1;
  std::size_t pixel_bytes = 1; // from one pixel to the next in a row
  std::size_t row_bytes = 0;
  std::size_t plane_bytes = 0;
  std::size_t n_planes = 1;
  [[nodiscard]] std::size_t bytes() const { return plane_bytes * n_planes; }
};

// Returns an Error unless there are four dimensions, N is 1, C without padding is 3, and H and W
// are 1 to kMaxFrameSize and more than their padding.
Result<TensorPlan> make_tensor_plan(const Model &model);

class TensorWriter {
public:
  // `x` and `y` are the place of the picture in the tensor without its padding, `bars` the colour
  // around it.
  TensorWriter(const TensorPlan &plan, const Quantiser &quantiser, Extent x, Extent y,
               const std::array<float, 3> &bars, const RowLoops &loops);

  // Writes all except the rows of the picture: padding, letterbox bars, padded channels.
  void write_outside(std::byte *tensor) const;
  // Writes row `y` of the picture with the bars and the padding beside it. `channels` are in the
  // order of the tensor.
  void write_row(std::byte *tensor, std::uint32_t y, const std::uint8_t *const channels[3]);
  // Writes the whole tensor, with the colour of the bars for the picture.
  void write_empty(std::byte *tensor) const;

private:
  // A row of one plane without a picture. Empty if the whole plane is padding.
  using Bar = std::vector<std::byte>;

  void make_bars(const std::array<float, 3> &colour);
  void fill_padding(std::byte *start, std::size_t n_bytes) const;
  void write_bars(std::byte *tensor, std::size_t first, std::size_t end) const;
  void quantise(const std::uint8_t *in, std::size_t channel, std::uint8_t *out) const;
  void write_bytes(std::byte *content, const std::uint8_t *const channels[3]);
  void write_floats(std::byte *content, const std::uint8_t *const channels[3]);

  TensorPlan plan_;
  Quantiser quantiser_;
  Extent x_, y_;
  const RowLoops *loops_;
  std::vector<Bar> bars_;                          // one per plane
  std::array<std::vector<std::uint8_t>, 3> bytes_; // quantised rows before they are interleaved
  std::vector<float> floats_;
};

} // namespace gstdrm::metis
