// SPDX-License-Identifier: LGPL-2.1-or-later
// What the families share: tables of boxes, and scores.
#pragma once

#include <array>
#include <optional>
#include <utility>

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

// The reader of a table of boxes in pixels, whose `classes` columns from 4 on are scores. While the
// form is not settled, returns an Error if the scores are no probabilities, unless the description
// says logits, or if the description does not say the unit, and all coordinates of a model's many
// boxes are below two pixels: they are normalised ones.
Result<BoxReader> table_reader(const Decoder &decoder, Tensors tensors,
                               const DecodeOptions &options, const OutputForm &form, BoxForm usual,
                               const BoxTable &table, std::size_t classes);

// A class that a model gives as a number; nullopt for one that is no class.
std::optional<std::uint32_t> label_of(float number);

// "an input of 640x480"
inline std::string input_text(const DecodeOptions &options)
{
  return "an input of " + std::to_string(options.input_width) + "x" +
         std::to_string(options.input_height);
}

// Returns an Error if the size of the model's input is not known.
Result<void> need_input_size(const Decoder &decoder, Tensors tensors, const DecodeOptions &options);

// Adds the objects that make(row) gives; it returns nullopt for a row without one.
template <typename Make>
void add_rows(std::vector<Detection> &found, std::size_t rows, const Make &make)
{
  for (std::size_t row = 0; row < rows; row++)
    if (auto object = make(row); object && is_real(*object))
      found.push_back(std::move(*object));
}

// The best of all objects, by the thresholds of the options.
inline std::vector<Detection> best_of(std::vector<Detection> found, const DecodeOptions &options)
{
  return best_of(std::move(found), options.iou_threshold, options.max_detections);
}

constexpr float kKeepOverlapping = 1; // as `iou`: the model has removed boxes that overlap

// The best of the objects that make(row) gives.
template <typename Make>
std::vector<Detection> best_rows(std::size_t rows, const DecodeOptions &options, const Make &make,
                                 std::optional<float> iou = std::nullopt)
{
  std::vector<Detection> found;
  add_rows(found, rows, make);
  return best_of(std::move(found), iou.value_or(options.iou_threshold), options.max_detections);
}

} // namespace gstdrm::metis
