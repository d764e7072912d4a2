// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string>
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder ultraface_decoder;

namespace {

constexpr std::array<PriorStride, 4> kUltraStrides{
    {{8, {10, 16, 24}}, {16, {32, 48, 0}}, {32, {64, 96, 0}}, {64, {128, 192, 256}}}};

std::optional<FaceTables> ultraface_tables(Tensors tensors)
{
  return tensors.size() == 2 ? face_tables(tensors) : std::nullopt;
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
                    input_text(options) + " has " + std::to_string(priors.size()) + " priors");
  if (!form.settled) {
    for (const auto &checked :
         {check_probabilities(ultraface_decoder, tensors, range_of(tables->scores, 0, 2)),
          offsets ? Result<void>() : check_corners(tensors, boxes)})
      if (!checked)
        return checked.error();
  }
  std::vector<Detection> found;
  for (std::size_t i = 0; i < boxes.boxes; i++) {
    const float score = tables->scores.at(i, 1);
    if (!(score >= options.threshold))
      continue;
    Detection face = offsets ? priors[i].box(boxes.four(i), score)
                             : reader->read(boxes.four(i), std::min(score, 1.0F), 0);
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
