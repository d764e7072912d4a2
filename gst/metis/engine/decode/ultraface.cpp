// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string>
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder ultraface_decoder;

namespace {

constexpr std::array<PriorStride, 4> kUltraStrides{
    {{8, {10, 16, 24}}, {16, {32, 48, 0}}, {32, {64, 96, 0}}, {64, {128, 192, 256}}}};

struct UltraTables {
  BoxTable boxes, scores;
  float step = 0; // of the scores
};

std::optional<UltraTables> ultraface_tables(Tensors tensors)
{
  if (tensors.size() != 2)
    return std::nullopt;
  const auto first = as_table(tensors[0], Order::BoxesFirst);
  const auto second = as_table(tensors[1], Order::BoxesFirst);
  if (!first || !second || first->boxes != second->boxes)
    return std::nullopt;
  if (first->columns == 4 && second->columns == 2)
    return UltraTables{*first, *second, tensors[1].step};
  if (first->columns == 2 && second->columns == 4)
    return UltraTables{*second, *first, tensors[0].step};
  return std::nullopt;
}

// Scores N x 2 of background and face, and boxes N x 4: x1, y1, x2, y2 as parts of the input; or,
// in exports that stop before, offsets from priors. Names and dimensions of both exports are the
// same.
bool fits_ultraface(Tensors tensors, const DecodeOptions &)
{
  return ultraface_tables(tensors).has_value();
}

// Corners of decoded boxes are in order, even of those that are no face; half of the offsets are
// not.
Result<void> check_corners(Tensors tensors, const BoxTable &boxes)
{
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < boxes.boxes; i++)
    if (boxes.at(i, 2) < boxes.at(i, 0) || boxes.at(i, 3) < boxes.at(i, 1))
      wrong++;
  if (wrong <= boxes.boxes / 20)
    return {};
  return unusable(ultraface_decoder.word, tensors,
                  "the second corner lies before the first one in " + std::to_string(wrong) +
                      " of " + std::to_string(boxes.boxes) +
                      " boxes, as in a model whose boxes are offsets from priors, for which the "
                      "model's description has boxes=offsets");
}

Result<std::vector<Detection>> decode_ultraface(Tensors tensors, const DecodeOptions &options,
                                                OutputForm &form)
{
  const auto tables = ultraface_tables(tensors);
  if (!tables)
    return unusable(ultraface_decoder.word, tensors,
                    "it needs scores of boxes x 2 and boxes of boxes x 4");
  const auto reader =
      box_reader(ultraface_decoder, tensors, options, form, BoxForm::Xyxy, BoxUnit::Normalised);
  if (!reader)
    return reader.error();
  const bool offsets = form.boxes == BoxForm::Offsets;
  const auto priors = offsets ? priors_of(options, kUltraStrides) : std::vector<Prior>();
  const BoxTable &boxes = tables->boxes;
  if (offsets && priors.size() != boxes.boxes)
    return unusable(ultraface_decoder.word, tensors,
                    "an input of " + std::to_string(options.input_width) + "x" +
                        std::to_string(options.input_height) + " has " +
                        std::to_string(priors.size()) + " priors");
  if (!form.settled) {
    Range range;
    range.add(tables->scores.values);
    for (const auto &checked :
         {check_probabilities(ultraface_decoder, tensors, range, tables->step),
          offsets ? Result<void>() : check_corners(tensors, boxes)})
      if (!checked)
        return checked.error();
  }
  std::vector<Detection> found;
  for (std::size_t i = 0; i < boxes.boxes; i++) {
    const float score = tables->scores.at(i, 1);
    if (!(score >= options.threshold))
      continue;
    const std::array<float, 4> box{boxes.at(i, 0), boxes.at(i, 1), boxes.at(i, 2), boxes.at(i, 3)};
    Detection face =
        offsets ? priors[i].box(box, score) : reader->read(box, std::min(score, 1.0F), 0);
    if (is_real(face))
      found.push_back(std::move(face));
  }
  return best_of(std::move(found), options.iou_threshold, options.max_detections);
}

} // namespace

const Decoder ultraface_decoder = {.word = "ultraface",
                                   .outputs = "scores N x 2, boxes N x 4",
                                   .fits = fits_ultraface,
                                   .decode = decode_ultraface,
                                   .only_label = "face",
                                   .reads_boxes = bit_of(BoxForm::Xyxy) | bit_of(BoxForm::Offsets),
                                   .reads_unit = true};

} // namespace gstdrm::metis
