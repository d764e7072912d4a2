// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string>
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder retinaface_decoder;

namespace {

constexpr std::array<PriorStride, 3> kRetinaStrides{
    {{8, {16, 32, 0}}, {16, {64, 128, 0}}, {32, {256, 512, 0}}}};

// RetinaFace as its PyTorch edition exports it: boxes N x 4 and key points N x 10 as offsets from
// priors, and scores N x 2 of background and face after softmax. Without key points the tensors are
// like those of UltraFace, whose priors are others.
bool fits_retinaface(Tensors tensors, const DecodeOptions &options)
{
  const auto tables = face_tables(tensors);
  return tables && tables->points &&
         tables->boxes.boxes == priors_of(options, kRetinaStrides).size();
}

Result<std::vector<Detection>> decode_retinaface(Tensors tensors, const DecodeOptions &options,
                                                 OutputForm &form)
{
  const auto tables = face_tables(tensors);
  const std::vector<Prior> priors = priors_of(options, kRetinaStrides);
  if (!tables || tables->boxes.boxes != priors.size())
    return unusable(retinaface_decoder.word, tensors,
                    "it needs boxes N x 4, scores N x 2 and maybe key points N x 10, with N = " +
                        std::to_string(priors.size()) + " priors of " + input_text(options));
  if (!form.settled)
    if (const auto checked =
            check_probabilities(retinaface_decoder, tensors, range_of(tables->scores, 0, 2));
        !checked)
      return checked.error();
  std::vector<Detection> found;
  for (std::size_t i = 0; i < priors.size(); i++) {
    const float score = tables->scores.at(i, 1);
    if (!(score >= options.threshold))
      continue;
    Detection face = priors[i].box(tables->boxes.four(i), score);
    if (!is_real(face))
      continue;
    for (std::size_t point = 0; tables->points && point < kFacePoints; point++)
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
