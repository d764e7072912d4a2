// SPDX-License-Identifier: LGPL-2.1-or-later
// The tensors of a YOLOv8 model, stride by stride.
#pragma once

#include <vector>

#include "decoders.hpp"

namespace gstdrm::metis {

constexpr std::size_t kBins = 16;               // of one distance
constexpr std::size_t kBoxChannels = 4 * kBins; // left, up, right, down

// A tensor over a grid of cells, whichever of its dimensions is which.
struct GridTensor {
  std::span<const float> values;
  std::size_t width = 0, height = 0, channels = 0;
  bool channels_last = true;

  [[nodiscard]] float at(std::size_t x, std::size_t y, std::size_t channel) const
  {
    return values[channels_last ? (y * width + x) * channels + channel
                                : (channel * height + y) * width + x];
  }
};

struct YoloGrid {
  GridTensor boxes;
  GridTensor classes;
};

// Pairs of box and class tensor. Where a model has 64 classes, the box tensor of a pair comes
// first.
Result<std::vector<YoloGrid>> find_grids(Tensors tensors);

// Whether the tensor may be that of the boxes.
bool is_box_grid(const TensorValues &tensor);

} // namespace gstdrm::metis
