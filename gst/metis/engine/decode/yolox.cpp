// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string>
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder yolox_decoder;

namespace {

constexpr std::size_t kYoloxClass = 5; // after place, size and objectness

// The number of strides, from 8 on, that have so many cells; 0 if there is none.
std::size_t yolox_strides(std::size_t cells, const DecodeOptions &options)
{
  for (const std::size_t strides : {std::size_t{3}, std::size_t{4}})
    if (cells > 0 && cells_of(options, strides) == cells)
      return strides;
  return 0;
}

// One tensor N x (5 + classes), a row for each cell of the strides 8, 16, 32 (and 64), one stride
// after the other, row by row: place in the cell and the logarithm of the size, both in cells;
// objectness and classes, which the model has made probabilities.
bool fits_yolox(Tensors tensors, const DecodeOptions &options)
{
  const auto table = only_table(tensors, Order::BoxesFirst);
  return table && table->columns > kYoloxClass && yolox_strides(table->boxes, options) != 0;
}

// Decodes the cells of one stride, whose first row is `row`.
void decode_yolox_stride(const BoxTable &table, std::size_t row, std::size_t stride,
                         const DecodeOptions &options, std::vector<Detection> &found)
{
  const auto pixels = static_cast<float>(stride);
  const std::size_t width = options.input_width / stride, height = options.input_height / stride;
  for (std::size_t y = 0; y < height; y++) {
    for (std::size_t x = 0; x < width; x++, row++) {
      const auto best = best_of_row(table, row, options.threshold);
      if (!best)
        continue;
      const float box_width = std::exp(table.at(row, 2)) * pixels;
      const float box_height = std::exp(table.at(row, 3)) * pixels;
      Detection object{(table.at(row, 0) + static_cast<float>(x)) * pixels - box_width / 2,
                       (table.at(row, 1) + static_cast<float>(y)) * pixels - box_height / 2,
                       box_width,
                       box_height,
                       best->value,
                       best->label,
                       {}};
      if (is_real(object))
        found.push_back(std::move(object));
    }
  }
}

Result<std::vector<Detection>> decode_yolox(Tensors tensors, const DecodeOptions &options,
                                            OutputForm &form)
{
  if (!fits_yolox(tensors, options))
    return unusable(yolox_decoder.word, tensors,
                    "it needs one tensor of cells x (5 + classes), and " + input_text(options) +
                        " has " + std::to_string(cells_of(options, 3)) +
                        " cells in strides of 8, 16 and 32");
  const auto table = only_table(tensors, Order::BoxesFirst);
  if (!form.settled) {
    const Range scores = range_of(*table, 4, table->columns - 4);
    const auto checked = check_probabilities(yolox_decoder, tensors, scores);
    if (!checked)
      return checked.error();
  }
  std::vector<Detection> found;
  std::size_t row = 0;
  for (std::size_t i = 0; i < yolox_strides(table->boxes, options); i++) {
    decode_yolox_stride(*table, row, std::size_t{8} << i, options, found);
    row = cells_of(options, i + 1);
  }
  return best_of(std::move(found), options.iou_threshold, options.max_detections);
}

} // namespace

const Decoder yolox_decoder = {.word = "yolox",
                               .outputs = "N x (5 + classes), N cells of strides 8, 16, 32",
                               .fits = fits_yolox,
                               .decode = decode_yolox};

} // namespace gstdrm::metis
