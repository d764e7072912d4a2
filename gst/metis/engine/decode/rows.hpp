// SPDX-License-Identifier: LGPL-2.1-or-later
// What the families share: tables of boxes, scores and corners.
#pragma once

#include <array>
#include <optional>

#include "decoders.hpp"

namespace gstdrm::metis {

// A tensor of two dimensions as boxes by columns, in either order of dimensions.
struct BoxTable {
  std::span<const float> values;
  std::size_t boxes = 0, columns = 0;
  bool columns_first = false;

  [[nodiscard]] float at(std::size_t box, std::size_t column) const
  {
    return values[columns_first ? column * boxes + box : box * columns + column];
  }
};

enum class Order { BoxesFirst, ColumnsFirst };

// Nullopt unless the tensor is whole and has two dimensions after the batch.
std::optional<BoxTable> as_table(const TensorValues &tensor, Order order);

struct BestClass {
  std::uint32_t label = 0;
  float value = 0;
};

// The largest finite value from `least` on; nullopt if all are below. `at` gives a class's value.
template <typename At>
std::optional<BestClass> best_class(std::size_t classes, float least, At &&at)
{
  std::optional<BestClass> best;
  for (std::size_t i = 0; i < classes; i++) {
    const float value = at(i);
    if (!(value >= least)) // most values end here
      continue;
    if (!std::isfinite(value) || (best && !(value > best->value)))
      continue;
    best = BestClass{static_cast<std::uint32_t>(i), value};
    least = value;
  }
  return best;
}

// The range of the finite values that it is given.
struct Range {
  float least = std::numeric_limits<float>::infinity();
  float most = -std::numeric_limits<float>::infinity();

  void add(float value)
  {
    if (!std::isfinite(value))
      return;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  void add(std::span<const float> values)
  {
    for (const float value : values)
      add(value);
  }
};

// Whether the values are probabilities of a tensor with this quantisation step. Logits of a whole
// frame are far outside of 0 to 1, because most places have no object; rounding is not.
bool are_probabilities(const Range &range, float step);

// Returns an Error that says how to go on if they are not.
Result<void> check_probabilities(const Decoder &decoder, Tensors tensors, const Range &range,
                                 float step);

// Completes `form.scores`.
void settle_scores(const Range &range, float step, OutputForm &form);

// Four numbers of a box to pixels of the input.
struct BoxReader {
  BoxForm form = BoxForm::Xyxy;
  float scale_x = 1, scale_y = 1;

  [[nodiscard]] Detection read(std::array<float, 4> box, float score, std::uint32_t label) const;
};

// `form` and `unit` take the place of what the description does not say. Returns an Error if
// normalised boxes come without the size of the input.
Result<BoxReader> box_reader(const Decoder &decoder, Tensors tensors, const DecodeOptions &options,
                             const OutputForm &said, BoxForm form, BoxUnit unit);

// Returns an Error if the description does not say the unit, and all coordinates of a model's many
// boxes are below two pixels: they are normalised ones.
Result<void> check_pixels(const Decoder &decoder, Tensors tensors, const OutputForm &form,
                          const BoxTable &table);

// Square boxes of these sides about the centre of each cell, which offsets of SSD start from.
struct PriorStride {
  std::size_t pixels;
  std::array<float, 3> sizes; // in pixels; 0: none
};

struct Prior {
  float x = 0, y = 0, size = 0; // centre and side, in pixels

  // With the variances of SSD, 0.1 for places and 0.2 for the size.
  [[nodiscard]] Detection box(std::array<float, 4> offsets, float score) const;
  [[nodiscard]] KeyPoint point(float offset_x, float offset_y) const
  {
    return {x + 0.1F * size * offset_x, y + 0.1F * size * offset_y};
  }
};

// Row by row of each stride, the priors of a cell one after the other.
std::vector<Prior> priors_of(const DecodeOptions &options, std::span<const PriorStride> strides);

// The cells of an input with strides 8, 16, 32 and so on.
std::size_t cells_of(const DecodeOptions &options, std::size_t strides);

} // namespace gstdrm::metis
