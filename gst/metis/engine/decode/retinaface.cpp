// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string>
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder retinaface_decoder;

namespace {

constexpr std::array<PriorStride, 3> kRetinaStrides{
    {{8, {16, 32, 0}}, {16, {64, 128, 0}}, {32, {256, 512, 0}}}};
constexpr std::size_t kRetinaPoints = 5;

struct RetinaTables {
  BoxTable boxes, scores;
  std::optional<BoxTable> points;
  float step = 0; // of the scores
};

std::optional<RetinaTables> retinaface_tables(Tensors tensors)
{
  std::optional<BoxTable> boxes, scores, points;
  float step = 0;
  for (const TensorValues &tensor : tensors) {
    const auto table = as_table(tensor, Order::BoxesFirst);
    std::optional<BoxTable> *place = !table                                ? nullptr
                                     : table->columns == 4                 ? &boxes
                                     : table->columns == 2                 ? &scores
                                     : table->columns == 2 * kRetinaPoints ? &points
                                                                           : nullptr;
    if (!place || *place)
      return std::nullopt;
    *place = table;
    if (place == &scores)
      step = tensor.step;
  }
  if (!boxes || !scores || boxes->boxes != scores->boxes ||
      (points && points->boxes != boxes->boxes))
    return std::nullopt;
  return RetinaTables{*boxes, *scores, points, step};
}

// RetinaFace as its PyTorch edition exports it: boxes N x 4 and key points N x 10 as offsets from
// priors, and scores N x 2 of background and face after softmax. Without key points the tensors are
// like those of UltraFace, whose priors are others.
bool fits_retinaface(Tensors tensors, const DecodeOptions &options)
{
  const auto tables = retinaface_tables(tensors);
  return tables && tables->points &&
         tables->boxes.boxes == priors_of(options, kRetinaStrides).size();
}

Result<std::vector<Detection>> decode_retinaface(Tensors tensors, const DecodeOptions &options,
                                                 OutputForm &form)
{
  const auto tables = retinaface_tables(tensors);
  const std::vector<Prior> priors = priors_of(options, kRetinaStrides);
  if (!tables || tables->boxes.boxes != priors.size())
    return unusable(retinaface_decoder.word, tensors,
                    "it needs boxes N x 4, scores N x 2 and maybe key points N x 10, with N = " +
                        std::to_string(priors.size()) + " priors of an input of " +
                        std::to_string(options.input_width) + "x" +
                        std::to_string(options.input_height));
  if (!form.settled) {
    Range range;
    range.add(tables->scores.values);
    if (const auto checked = check_probabilities(retinaface_decoder, tensors, range, tables->step);
        !checked)
      return checked.error();
  }
  std::vector<Detection> found;
  for (std::size_t i = 0; i < priors.size(); i++) {
    const float score = tables->scores.at(i, 1);
    if (!(score >= options.threshold))
      continue;
    const BoxTable &boxes = tables->boxes;
    Detection face =
        priors[i].box({boxes.at(i, 0), boxes.at(i, 1), boxes.at(i, 2), boxes.at(i, 3)}, score);
    if (!is_real(face))
      continue;
    for (std::size_t point = 0; tables->points && point < kRetinaPoints; point++)
      face.key_points.push_back(
          priors[i].point(tables->points->at(i, 2 * point), tables->points->at(i, 2 * point + 1)));
    found.push_back(std::move(face));
  }
  return best_of(std::move(found), options.iou_threshold, options.max_detections);
}

} // namespace

const Decoder retinaface_decoder = {.word = "retinaface",
                                    .outputs = "boxes N x 4, scores N x 2, key points N x 10",
                                    .fits = fits_retinaface,
                                    .decode = decode_retinaface,
                                    .only_label = "face"};

} // namespace gstdrm::metis
