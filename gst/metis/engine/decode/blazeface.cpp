// SPDX-License-Identifier: LGPL-2.1-or-later
#include <array>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder blazeface_decoder;

namespace {

constexpr std::size_t kKeyPoints = 6;
constexpr std::size_t kNumbers = 4 + 2 * kKeyPoints; // per anchor
constexpr const char *kBlazeface = "blazeface";

struct Grid {
  std::size_t cell;    // pixels
  std::size_t anchors; // per cell
};
constexpr std::array<Grid, 2> kGrids{{{8, 2}, {16, 6}}};

std::size_t anchors_of(std::size_t width, std::size_t height)
{
  std::size_t count = 0;
  for (const Grid &grid : kGrids)
    count += (width / grid.cell) * (height / grid.cell) * grid.anchors;
  return count;
}

// In input pixels, in the order of the tensors' rows.
std::vector<KeyPoint> anchor_centres(std::size_t width, std::size_t height)
{
  std::vector<KeyPoint> centres;
  centres.reserve(anchors_of(width, height));
  for (const Grid &grid : kGrids)
    for (std::size_t y = 0; y < height / grid.cell; y++)
      for (std::size_t x = 0; x < width / grid.cell; x++)
        for (std::size_t i = 0; i < grid.anchors; i++)
          centres.push_back({(static_cast<float>(x) + 0.5F) * static_cast<float>(grid.cell),
                             (static_cast<float>(y) + 0.5F) * static_cast<float>(grid.cell)});
  return centres;
}

Detection face_at(std::span<const float> row, KeyPoint anchor, float score)
{
  Detection face;
  face.width = row[2];
  face.height = row[3];
  face.x = anchor.x + row[0] - face.width / 2;
  face.y = anchor.y + row[1] - face.height / 2;
  face.score = score;
  for (std::size_t i = 0; i < kKeyPoints; i++)
    face.key_points.push_back({anchor.x + row[4 + 2 * i], anchor.y + row[5 + 2 * i]});
  return face;
}

bool are_regressors(const TensorValues &tensor)
{
  return is_whole(tensor) && !tensor.dims.empty() && tensor.dims.back() == kNumbers;
}

// Two tensors: N x 16 regressors (x, y, width, height, six key points, in input pixels from the
// anchor) and N scores. A cell of 8 pixels has 2 anchors, a cell of 16 pixels 6.
bool fits_blazeface(Tensors tensors, const DecodeOptions &)
{
  if (tensors.size() != 2)
    return false;
  const auto rows_of_16 = [](const TensorValues &tensor) {
    const auto dims = trimmed(tensor.dims, 2);
    return dims.size() == 2 && dims[1] == 16;
  };
  const bool first = rows_of_16(tensors[0]);
  return first != rows_of_16(tensors[1]) &&
         tensors[first ? 1 : 0].values.size() * 16 == tensors[first ? 0 : 1].values.size();
}

Result<std::vector<Detection>> decode_blazeface(Tensors tensors, const DecodeOptions &options,
                                                OutputForm &form)
{
  if (tensors.size() != 2 || are_regressors(tensors[0]) == are_regressors(tensors[1]))
    return unusable(kBlazeface, tensors,
                    "it needs a tensor of rows of 16 numbers and one of scores");
  const std::size_t first = are_regressors(tensors[0]) ? 0 : 1;
  const std::span<const float> rows = tensors[first].values;
  const TensorValues &scores = tensors[1 - first];
  const std::size_t count = rows.size() / kNumbers;
  if (!is_whole(scores) || scores.values.size() != count)
    return unusable(kBlazeface, tensors,
                    "there are " + std::to_string(count) + " rows and " +
                        std::to_string(scores.values.size()) + " scores");
  const std::size_t width = options.input_width, height = options.input_height;
  if (anchors_of(width, height) != count)
    return unusable(kBlazeface, tensors,
                    input_text(options) + " has " + std::to_string(anchors_of(width, height)) +
                        " anchors");
  if (form.scores == ScoreForm::Unknown) {
    Range range;
    range.add(scores);
    settle_scores(range, form);
  }
  const ScoreReader reader(form, options);
  const std::vector<KeyPoint> anchors = anchor_centres(width, height);
  std::vector<Detection> found;
  for (std::size_t i = 0; i < count; i++) {
    const auto score = reader.read(scores.values[i]);
    if (!score)
      continue;
    Detection face = face_at(rows.subspan(i * kNumbers, kNumbers), anchors[i], *score);
    if (is_real(face))
      found.push_back(std::move(face));
  }
  return best_of(std::move(found), options.iou_threshold, options.max_detections);
}

} // namespace

const Decoder blazeface_decoder = {.word = kBlazeface,
                                   .outputs = "N x 16 and N scores",
                                   .fits = fits_blazeface,
                                   .decode = decode_blazeface,
                                   .only_label = "face",
                                   .reads_scores = true};

} // namespace gstdrm::metis
