// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string>
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder scrfd_decoder;

namespace {

constexpr std::size_t kScrfdPoints = 5;

// The tensors of one stride: rows for each cell, and within a cell for each anchor.
struct ScrfdGrid {
  const TensorValues *scores = nullptr;
  const TensorValues *boxes = nullptr;
  const TensorValues *points = nullptr;
};

struct ScrfdModel {
  std::vector<ScrfdGrid> grids; // of the strides 8, 16, 32 and so on
  std::size_t anchors = 0;      // in a cell, all in its upper left corner
};

// Scores (rows x 1), boxes (rows x 4) and, of models with key points, points (rows x 10): for three
// strides with two anchors in a cell, or for five strides with one.
std::optional<ScrfdModel> scrfd_model(Tensors tensors, const DecodeOptions &options)
{
  ScrfdModel model;
  switch (tensors.size()) {
  case 6:
  case 9:
    model = {std::vector<ScrfdGrid>(3), 2};
    break;
  case 10:
  case 15:
    model = {std::vector<ScrfdGrid>(5), 1};
    break;
  default:
    return std::nullopt;
  }
  for (const TensorValues &tensor : tensors) {
    const auto table = as_table(tensor, Order::BoxesFirst);
    bool taken = false;
    for (std::size_t i = 0; table && !taken && i < model.grids.size(); i++) {
      const std::size_t cells = (std::size_t{options.input_width} >> (3 + i)) *
                                (std::size_t{options.input_height} >> (3 + i));
      ScrfdGrid &grid = model.grids[i];
      const TensorValues **place = table->columns == 1                  ? &grid.scores
                                   : table->columns == 4                ? &grid.boxes
                                   : table->columns == 2 * kScrfdPoints ? &grid.points
                                                                        : nullptr;
      if (!place || *place || table->boxes != cells * model.anchors)
        continue;
      *place = &tensor;
      taken = true;
    }
    if (!taken)
      return std::nullopt;
  }
  const bool with_points = tensors.size() == 3 * model.grids.size();
  for (const ScrfdGrid &grid : model.grids)
    if (!grid.scores || !grid.boxes || (grid.points != nullptr) != with_points)
      return std::nullopt;
  return model;
}

bool fits_scrfd(Tensors tensors, const DecodeOptions &options)
{
  return scrfd_model(tensors, options).has_value();
}

// A box is four distances from the anchor, a key point an offset from it, both in strides.
void decode_scrfd_grid(const ScrfdGrid &grid, std::size_t anchors, std::size_t stride,
                       const DecodeOptions &options, std::vector<Detection> &found)
{
  const auto pixels = static_cast<float>(stride);
  const std::size_t width = options.input_width / stride;
  for (std::size_t i = 0; i < grid.scores->values.size(); i++) {
    const float score = grid.scores->values[i];
    if (!(score >= options.threshold))
      continue;
    const std::size_t cell = i / anchors;
    const auto x = static_cast<float>(cell % width), y = static_cast<float>(cell / width);
    const std::span<const float> box = grid.boxes->values.subspan(4 * i, 4);
    Detection face{(x - box[0]) * pixels,
                   (y - box[1]) * pixels,
                   (box[0] + box[2]) * pixels,
                   (box[1] + box[3]) * pixels,
                   std::min(score, 1.0F),
                   0,
                   {}};
    if (!is_real(face))
      continue;
    for (std::size_t point = 0; grid.points && point < kScrfdPoints; point++) {
      const std::span<const float> at =
          grid.points->values.subspan(2 * (kScrfdPoints * i + point), 2);
      face.key_points.push_back({(x + at[0]) * pixels, (y + at[1]) * pixels});
    }
    found.push_back(std::move(face));
  }
}

Result<std::vector<Detection>> decode_scrfd(Tensors tensors, const DecodeOptions &options,
                                            OutputForm &form)
{
  const auto model = scrfd_model(tensors, options);
  if (!model)
    return unusable(scrfd_decoder.word, tensors,
                    "it needs tensors of rows x 1, rows x 4 and maybe rows x 10 for each of the "
                    "strides 8, 16 and 32 with two rows in a cell, or 8 to 128 with one, of an "
                    "input of " +
                        std::to_string(options.input_width) + "x" +
                        std::to_string(options.input_height));
  if (!form.settled) {
    Range range;
    float step = 0;
    for (const ScrfdGrid &grid : model->grids) {
      range.add(grid.scores->values);
      step = std::max(step, grid.scores->step);
    }
    if (const auto checked = check_probabilities(scrfd_decoder, tensors, range, step); !checked)
      return checked.error();
  }
  std::vector<Detection> found;
  for (std::size_t i = 0; i < model->grids.size(); i++)
    decode_scrfd_grid(model->grids[i], model->anchors, std::size_t{8} << i, options, found);
  return best_of(std::move(found), options.iou_threshold, options.max_detections);
}

} // namespace

const Decoder scrfd_decoder = {.word = "scrfd",
                               .outputs = "score, bbox and kps for strides 8, 16, 32",
                               .fits = fits_scrfd,
                               .decode = decode_scrfd,
                               .only_label = "face"};

} // namespace gstdrm::metis
