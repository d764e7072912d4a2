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
  float step = 0; // TensorValues::step

  [[nodiscard]] float at(std::size_t box, std::size_t column) const
  {
    return values[columns_first ? column * boxes + box : box * columns + column];
  }
  // The numbers of the box itself.
  [[nodiscard]] std::array<float, 4> four(std::size_t box) const
  {
    return {at(box, 0), at(box, 1), at(box, 2), at(box, 3)};
  }
};

enum class Order { BoxesFirst, ColumnsFirst };

// Nullopt unless the tensor is whole and has two dimensions after the batch.
std::optional<BoxTable> as_table(const TensorValues &tensor, Order order);
// The same of a model's only tensor; nullopt if there are more.
inline std::optional<BoxTable> only_table(Tensors tensors, Order order)
{
  return tensors.size() == 1 ? as_table(tensors[0], order) : std::nullopt;
}

// A tensor over a grid of cells, in either order of dimensions.
struct GridTensor {
  std::span<const float> values;
  float step = 0; // TensorValues::step
  std::size_t width = 0, height = 0, channels = 0;
  bool channels_last = false;

  [[nodiscard]] float at(std::size_t x, std::size_t y, std::size_t channel) const
  {
    return values[channels_last ? (y * width + x) * channels + channel
                                : (channel * height + y) * width + x];
  }
};

// Nullopt unless the tensor has three dimensions after the batch.
std::optional<GridTensor> as_grid(const TensorValues &tensor, bool channels_last);

struct BestClass {
  std::uint32_t label = 0;
  float value = 0;
};

// From a model's values to scores.
struct ScoreReader {
  ScoreReader(const OutputForm &form, const DecodeOptions &options)
      : logits(form.scores == ScoreForm::Logits), threshold(options.threshold),
        least(logits ? least_logit(threshold) : threshold)
  {
  }
  // Nullopt below the threshold.
  [[nodiscard]] std::optional<float> read(float value) const
  {
    if (!(value >= least)) // most values end here
      return std::nullopt;
    const float score = logits ? sigmoid(value) : std::min(value, 1.0F);
    return score >= threshold ? std::optional(score) : std::nullopt;
  }

  bool logits;
  float threshold, least; // score, value
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

// The range of the finite values that it is given, and the largest quantisation step of their
// tensors.
struct Range {
  float least = std::numeric_limits<float>::infinity();
  float most = -std::numeric_limits<float>::infinity();
  float step = 0;

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
  void add(const TensorValues &tensor)
  {
    add(tensor.values);
    step = std::max(step, tensor.step);
  }
};

// Of `count` columns, from `first` on.
Range range_of(const BoxTable &table, std::size_t first, std::size_t count);

// Whether the values are probabilities. Logits of a whole frame are far outside of 0 to 1, because
// most places have no object; rounding is not.
bool are_probabilities(const Range &range);

// Returns an Error that says how to go on if they are not.
Result<void> check_probabilities(const Decoder &decoder, Tensors tensors, const Range &range);

// Completes `form.scores`.
void settle_scores(const Range &range, OutputForm &form);

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

// Of a table of boxes in pixels whose `count` columns from `first` on are scores, while the form is
// not settled. Returns an Error if the scores are no probabilities, unless the description says
// logits, or if the description does not say the unit, and all coordinates of a model's many boxes
// are below two pixels: they are normalised ones.
Result<void> check_table(const Decoder &decoder, Tensors tensors, const OutputForm &form,
                         const BoxTable &table, std::size_t first, std::size_t count);

// The best class of a row of centre, size, objectness and classes, all probabilities: its value is
// objectness times class. Nullopt below the threshold.
std::optional<BestClass> best_of_row(const BoxTable &table, std::size_t row, float threshold);

// A class that a model gives as a number; nullopt for one that is no class.
std::optional<std::uint32_t> label_of(float number);

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

inline constexpr std::size_t kFacePoints = 5;

// The tensors of a model whose boxes start from priors, a row for each.
struct FaceTables {
  BoxTable boxes, scores;         // rows x 4; rows x 2, background and face
  std::optional<BoxTable> points; // rows x 10
};

// Nullopt if tensors are missing or left over.
std::optional<FaceTables> face_tables(Tensors tensors);

// The tensors of one of these strides, each a row per cell, or several.
struct FaceGrid {
  std::size_t stride = 0; // pixels
  std::vector<const TensorValues *> scores;
  const TensorValues *boxes = nullptr;
  const TensorValues *points = nullptr; // of five key points; nullptr if the model has none

  // A key point of a row, as an offset from the cell at x, y, in strides.
  [[nodiscard]] KeyPoint point(std::size_t row, std::size_t number, float x, float y) const
  {
    const std::span<const float> at = points->values.subspan(2 * (kFacePoints * row + number), 2);
    return {(x + at[0]) * static_cast<float>(stride), (y + at[1]) * static_cast<float>(stride)};
  }
};

// For each stride `scores` tensors of rows x 1, one of rows x 4 and perhaps one of rows x 10, with
// `anchors` rows for each cell. Nullopt if tensors are missing or left over.
std::optional<std::vector<FaceGrid>> face_grids(Tensors tensors, const DecodeOptions &options,
                                                std::size_t strides, std::size_t anchors,
                                                std::size_t scores);

// Of the scores of all grids.
Range range_of(std::span<const FaceGrid> grids);

// "an input of 640x480"
inline std::string input_text(const DecodeOptions &options)
{
  return "an input of " + std::to_string(options.input_width) + "x" +
         std::to_string(options.input_height);
}

// Returns an Error if the size of the model's input is not known.
Result<void> need_input_size(const Decoder &decoder, Tensors tensors, const DecodeOptions &options);

// The numbers of a model's only tensor, of whose dimensions one is above 1. Returns an Error that
// says what the decoder needs, `what`, or as need_input_size().
Result<std::span<const float>> one_list(const Decoder &decoder, Tensors tensors,
                                        const DecodeOptions &options, const char *what);

// An object as large as the input.
Detection whole_input(const DecodeOptions &options, float score, std::uint32_t label);

} // namespace gstdrm::metis
