// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string>
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder yunet_decoder;

namespace {

// Twelve tensors, for each of the strides 8, 16 and 32 class and objectness (cells x 1), boxes
// (cells x 4) and five key points (cells x 10). Score: the root of class times objectness,
// so that which is which does not matter.
std::optional<std::vector<FaceGrid>> yunet_grids(Tensors tensors, const DecodeOptions &options)
{
  return tensors.size() == 12 ? face_grids(tensors, options, 3, 1, 2) : std::nullopt;
}

bool fits_yunet(Tensors tensors, const DecodeOptions &options)
{
  return yunet_grids(tensors, options).has_value();
}

void decode_yunet_grid(const FaceGrid &grid, const DecodeOptions &options,
                       std::vector<Detection> &found)
{
  const auto pixels = static_cast<float>(grid.stride);
  const std::size_t width = options.input_width / grid.stride;
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
    for (std::size_t point = 0; point < kFacePoints; point++)
      face.key_points.push_back(grid.point(i, point, x, y));
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
                    "each of the strides 8, 16 and 32 of " +
                        input_text(options));
  if (!form.settled)
    if (const auto checked = check_probabilities(yunet_decoder, tensors, range_of(*grids));
        !checked)
      return checked.error();
  std::vector<Detection> found;
  for (const FaceGrid &grid : *grids)
    decode_yunet_grid(grid, options, found);
  return best_of(std::move(found), options.iou_threshold, options.max_detections);
}

} // namespace

const Decoder yunet_decoder = {.word = "yunet",
                               .outputs = "cls, obj, bbox and kps for strides 8, 16, 32",
                               .fits = fits_yunet,
                               .decode = decode_yunet,
                               .only_label = "face"};

} // namespace gstdrm::metis
