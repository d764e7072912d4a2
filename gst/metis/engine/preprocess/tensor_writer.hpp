// SPDX-License-Identifier: LGPL-2.1-or-later
// Puts rows of channels into a tensor: quantised, in its layout, with bars and padding around them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "axis.hpp"
#include "quantiser.hpp"
#include "rows.hpp"
#include "tensor_plan.hpp"

namespace gstdrm::metis {

class TensorWriter {
public:
  // `x` and `y`: where the picture goes in the tensor without its padding.
  TensorWriter(const TensorPlan &plan, const Quantiser &quantiser, Extent x, Extent y,
               const RowLoops &loops);

  // Everything but the rows of the picture: padding, bars, padded channels.
  void write_outside(std::byte *tensor) const;
  // Row `y` of the picture with what lies left and right of it. `channels` has R, G and B, or B, G
  // and R.
  void write_row(std::byte *tensor, std::uint32_t y, const std::uint8_t *const channels[3]);
  // The whole tensor without a picture.
  void write_black(std::byte *tensor) const;

private:
  // Of one plane: a row without picture. Empty: all of the plane is padding.
  using Bar = std::vector<std::byte>;

  void make_bars();
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
  std::array<std::vector<std::uint8_t>, 3> bytes_; // quantised rows on their way to be interleaved
  std::vector<float> floats_;
};

} // namespace gstdrm::metis
