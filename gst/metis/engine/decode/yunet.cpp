// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string>
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder yunet_decoder;

namespace {

constexpr std::size_t kYunetPoints = 5;
constexpr std::array<std::size_t, 3> kYunetStrides{8, 16, 32};

// The tensors of one stride, each a row per cell. The two scores are multiplied, so that which is
// which does not matter.
struct YunetGrid {
  std::array<const TensorValues *, 2> scores{};
  const TensorValues *boxes = nullptr;
  const TensorValues *points = nullptr;

  [[nodiscard]] bool is_full() const { return scores[0] && scores[1] && boxes && points; }
  // Returns false if there is a tensor of this kind, or no such kind.
  bool take(const TensorValues &tensor, std::size_t columns)
  {
    const TensorValues **place = columns == 1    ? &scores[scores[0] ? 1 : 0]
                                 : columns == 4  ? &boxes
                                 : columns == 10 ? &points
                                                 : nullptr;
    if (!place || *place)
      return false;
    *place = &tensor;
    return true;
  }
};

std::optional<std::array<YunetGrid, 3>> yunet_grids(Tensors tensors, const DecodeOptions &options)
{
  std::array<YunetGrid, 3> grids;
  if (tensors.size() != 4 * grids.size())
    return std::nullopt;
  for (const TensorValues &tensor : tensors) {
    const auto table = as_table(tensor, Order::BoxesFirst);
    bool taken = false;
    for (std::size_t i = 0; table && !taken && i < grids.size(); i++) {
      const std::size_t stride = kYunetStrides[i];
      const std::size_t cells = (options.input_width / stride) * (options.input_height / stride);
      taken = table->boxes == cells && grids[i].take(tensor, table->columns);
    }
    if (!taken)
      return std::nullopt;
  }
  return grids;
}

// Twelve tensors, for each of the strides 8, 16 and 32 class and objectness (cells x 1), boxes
// (cells x 4) and five key points (cells x 10). Score: the root of class times objectness.
bool fits_yunet(Tensors tensors, const DecodeOptions &options)
{
  return yunet_grids(tensors, options).has_value();
}

void decode_yunet_grid(const YunetGrid &grid, std::size_t stride, const DecodeOptions &options,
                       std::vector<Detection> &found)
{
  const auto pixels = static_cast<float>(stride);
  const std::size_t width = options.input_width / stride;
  const float least = options.threshold * options.threshold;
  for (std::size_t i = 0; i < grid.scores[0]->values.size(); i++) {
    const float first = grid.scores[0]->values[i], second = grid.scores[1]->values[i];
    if (!(first >= least) || !(second >= least)) // the product is not more than either
      continue;
    const float score = std::sqrt(std::min(first, 1.0F) * std::min(second, 1.0F));
    if (!(score >= options.threshold))
      continue;
    const auto x = static_cast<float>(i % width), y = static_cast<float>(i / width);
    const std::span<const float> box = grid.boxes->values.subspan(i * 4, 4);
    Detection face;
    face.width = std::exp(box[2]) * pixels;
    face.height = std::exp(box[3]) * pixels;
    face.x = (x + box[0]) * pixels - face.width / 2;
    face.y = (y + box[1]) * pixels - face.height / 2;
    face.score = score;
    if (!is_real(face))
      continue;
    const std::span<const float> points = grid.points->values.subspan(i * 2 * kYunetPoints);
    for (std::size_t point = 0; point < kYunetPoints; point++)
      face.key_points.push_back(
          {(x + points[2 * point]) * pixels, (y + points[2 * point + 1]) * pixels});
    found.push_back(std::move(face));
  }
}

Result<std::vector<Detection>> decode_yunet(Tensors tensors, const DecodeOptions &options,
                                            OutputForm &form)
{
  const auto grids = yunet_grids(tensors, options);
  if (!grids)
    return unusable(yunet_decoder.word, tensors,
                    "it needs two tensors of cells x 1, one of cells x 4 and one of cells x 10 for "
                    "each of the strides 8, 16 and 32 of an input of " +
                        std::to_string(options.input_width) + "x" +
                        std::to_string(options.input_height));
  if (!form.settled) {
    Range range;
    float step = 0;
    for (const YunetGrid &grid : *grids)
      for (const TensorValues *scores : grid.scores) {
        range.add(scores->values);
        step = std::max(step, scores->step);
      }
    const auto checked = check_probabilities(yunet_decoder, tensors, range, step);
    if (!checked)
      return checked.error();
  }
  std::vector<Detection> found;
  for (std::size_t i = 0; i < grids->size(); i++)
    decode_yunet_grid((*grids)[i], kYunetStrides[i], options, found);
  return best_of(std::move(found), options.iou_threshold, options.max_detections);
}

} // namespace

const Decoder yunet_decoder = {.word = "yunet",
                               .outputs = "cls, obj, bbox and kps for strides 8, 16, 32",
                               .fits = fits_yunet,
                               .decode = decode_yunet,
                               .only_label = "face"};

} // namespace gstdrm::metis
