// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string>
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder scrfd_decoder;

namespace {

// Scores (rows x 1), boxes (rows x 4) and, of models with key points, points (rows x 10): for three
// strides with two anchors in a cell, all in its upper left corner, or for five strides with one.
std::size_t scrfd_anchors(Tensors tensors)
{
  return tensors.size() == 6 || tensors.size() == 9 ? 2 : 1;
}

std::optional<std::vector<FaceGrid>> scrfd_grids(Tensors tensors, const DecodeOptions &options)
{
  const std::size_t anchors = scrfd_anchors(tensors);
  return face_grids(tensors, options, anchors == 2 ? 3 : 5, anchors, 1);
}

bool fits_scrfd(Tensors tensors, const DecodeOptions &options)
{
  return scrfd_grids(tensors, options).has_value();
}

// A box is four distances from the anchor, a key point an offset from it, both in strides.
void decode_scrfd_grid(const FaceGrid &grid, std::size_t anchors, const DecodeOptions &options,
                       std::vector<Detection> &found)
{
  const auto pixels = static_cast<float>(grid.stride);
  const std::size_t width = options.input_width / grid.stride;
  const std::span<const float> scores = grid.scores[0]->values;
  for (std::size_t i = 0; i < scores.size(); i++) {
    const float score = scores[i];
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
    for (std::size_t point = 0; grid.points && point < kFacePoints; point++)
      face.key_points.push_back(grid.point(i, point, x, y));
    found.push_back(std::move(face));
  }
}

Result<std::vector<Detection>> decode_scrfd(Tensors tensors, const DecodeOptions &options,
                                            OutputForm &form)
{
  const auto grids = scrfd_grids(tensors, options);
  if (!grids)
    return unusable(scrfd_decoder.word, tensors,
                    "it needs tensors of rows x 1, rows x 4 and maybe rows x 10 for each of the "
                    "strides 8, 16 and 32 with two rows in a cell, or 8 to 128 with one, of " +
                        input_text(options));
  if (!form.settled)
    if (const auto checked = check_probabilities(scrfd_decoder, tensors, range_of(*grids));
        !checked)
      return checked.error();
  std::vector<Detection> found;
  for (const FaceGrid &grid : *grids)
    decode_scrfd_grid(grid, scrfd_anchors(tensors), options, found);
  return best_of(std::move(found), options.iou_threshold, options.max_detections);
}

} // namespace

const Decoder scrfd_decoder = {.word = "scrfd",
                               .outputs = "score, bbox and kps for strides 8, 16, 32",
                               .fits = fits_scrfd,
                               .decode = decode_scrfd,
                               .only_label = "face"};

} // namespace gstdrm::metis
