// SPDX-License-Identifier: LGPL-2.1-or-later
// The families of face detectors, whose boxes are offsets from anchors, priors or cells.
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder blazeface_decoder, ultraface_decoder, retinaface_decoder, scrfd_decoder,
    yunet_decoder;

namespace {

// Square boxes of these sides about the centre of each cell.
struct PriorStride {
  std::size_t pixels;
  std::array<float, 6> sizes; // in pixels; 0: none
};

struct Prior {
  float x = 0, y = 0, size = 0; // centre and side, in pixels

  // From offsets of SSD, with its variances: 0.1 for places and 0.2 for the size.
  [[nodiscard]] Detection box(std::array<float, 4> offsets, float score) const
  {
    const KeyPoint centre = point(offsets[0], offsets[1]);
    const float width = size * std::exp(0.2F * offsets[2]);
    const float height = size * std::exp(0.2F * offsets[3]);
    return {
        centre.x - width / 2, centre.y - height / 2, width, height, std::min(score, 1.0F), 0, {}};
  }
  [[nodiscard]] KeyPoint point(float offset_x, float offset_y) const
  {
    return {x + 0.1F * size * offset_x, y + 0.1F * size * offset_y};
  }
};

// Row by row of each stride, the priors of a cell one after the other.
std::vector<Prior> priors_of(const DecodeOptions &options, std::span<const PriorStride> strides)
{
  std::vector<Prior> priors;
  for (const PriorStride &stride : strides) {
    // the networks round up where they halve
    const std::size_t width = (options.input_width + stride.pixels - 1) / stride.pixels;
    const std::size_t height = (options.input_height + stride.pixels - 1) / stride.pixels;
    const auto pixels = static_cast<float>(stride.pixels);
    for (std::size_t y = 0; y < height; y++)
      for (std::size_t x = 0; x < width; x++)
        for (const float size : stride.sizes)
          if (size > 0)
            priors.push_back({(static_cast<float>(x) + 0.5F) * pixels,
                              (static_cast<float>(y) + 0.5F) * pixels, size});
  }
  return priors;
}

// --- BlazeFace -----------------------------------------------------------------------------------

constexpr std::size_t kBlazeNumbers = 16; // per anchor: box and six key points
// Anchors without a size: two in a cell of 8 pixels, six in a cell of 16.
constexpr std::array<PriorStride, 2> kBlazeStrides{{{8, {1, 1}}, {16, {1, 1, 1, 1, 1, 1}}}};

struct BlazeTensors {
  BoxTable rows;
  const TensorValues &scores;
};

std::optional<BlazeTensors> blaze_tensors(Tensors tensors)
{
  const auto rows_of = [](const TensorValues &tensor) {
    const auto table = as_table(tensor, Order::BoxesFirst);
    return table && table->columns == kBlazeNumbers ? table : std::nullopt;
  };
  if (tensors.size() != 2)
    return std::nullopt;
  const auto first = rows_of(tensors[0]), second = rows_of(tensors[1]);
  if (first.has_value() == second.has_value())
    return std::nullopt;
  return first ? BlazeTensors{*first, tensors[1]} : BlazeTensors{*second, tensors[0]};
}

// Two tensors: N x 16 regressors (x, y, width, height, six key points, in input pixels from the
// anchor) and N scores.
bool fits_blazeface(Tensors tensors, const DecodeOptions &)
{
  const auto model = blaze_tensors(tensors);
  return model && model->scores.values.size() == model->rows.boxes;
}

Result<std::vector<Detection>> decode_blazeface(Tensors tensors, const DecodeOptions &options,
                                                OutputForm &form)
{
  const auto model = blaze_tensors(tensors);
  if (!model)
    return unusable(blazeface_decoder.word, tensors,
                    "it needs a tensor of rows of 16 numbers and one of scores");
  const auto &[rows, scores] = *model;
  if (!is_whole(scores) || scores.values.size() != rows.boxes)
    return unusable(blazeface_decoder.word, tensors,
                    "there are " + std::to_string(rows.boxes) + " rows and " +
                        std::to_string(scores.values.size()) + " scores");
  const std::vector<Prior> anchors = priors_of(options, kBlazeStrides);
  if (anchors.size() != rows.boxes)
    return unusable(blazeface_decoder.word, tensors,
                    input_text(options) + " has " + std::to_string(anchors.size()) + " anchors");
  if (form.scores == ScoreForm::Unknown) {
    Range range;
    range.add(scores);
    settle_scores(range, form);
  }
  const ScoreReader reader(form, options);
  const std::span<const float> values = scores.values;
  return best_rows(rows.boxes, options, [&](std::size_t i) -> std::optional<Detection> {
    const auto score = reader.read(values[i]);
    if (!score)
      return std::nullopt;
    const auto [x, y, width, height] = rows.four(i);
    const Prior &anchor = anchors[i];
    Detection face{
        anchor.x + x - width / 2, anchor.y + y - height / 2, width, height, *score, 0, {}};
    for (std::size_t column = 4; column < kBlazeNumbers; column += 2)
      face.key_points.push_back({anchor.x + rows.at(i, column), anchor.y + rows.at(i, column + 1)});
    return face;
  });
}

// --- RetinaFace, UltraFace -----------------------------------------------------------------------

constexpr std::size_t kFacePoints = 5;

// The tensors of a model whose boxes start from priors, a row for each.
struct FaceTables {
  BoxTable boxes, scores;         // rows x 4; rows x 2, background and face
  std::optional<BoxTable> points; // rows x 10
};

// Nullopt if tensors are missing or left over.
std::optional<FaceTables> face_tables(Tensors tensors)
{
  std::optional<BoxTable> boxes, scores, points;
  for (const TensorValues &tensor : tensors) {
    const auto table = as_table(tensor, Order::BoxesFirst);
    std::optional<BoxTable> *place = !table                              ? nullptr
                                     : table->columns == 4               ? &boxes
                                     : table->columns == 2               ? &scores
                                     : table->columns == 2 * kFacePoints ? &points
                                                                         : nullptr;
    if (!place || *place)
      return std::nullopt;
    *place = table;
  }
  if (!boxes || !scores || boxes->boxes != scores->boxes ||
      (points && points->boxes != boxes->boxes))
    return std::nullopt;
  return FaceTables{*boxes, *scores, points};
}

constexpr std::array<PriorStride, 3> kRetinaStrides{
    {{8, {16, 32}}, {16, {64, 128}}, {32, {256, 512}}}};

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
  return best_rows(priors.size(), options, [&](std::size_t i) -> std::optional<Detection> {
    const float score = tables->scores.at(i, 1);
    if (!(score >= options.threshold))
      return std::nullopt;
    Detection face = priors[i].box(tables->boxes.four(i), score);
    for (std::size_t point = 0; tables->points && point < kFacePoints; point++)
      face.key_points.push_back(
          priors[i].point(tables->points->at(i, 2 * point), tables->points->at(i, 2 * point + 1)));
    return face;
  });
}

constexpr std::array<PriorStride, 4> kUltraStrides{
    {{8, {10, 16, 24}}, {16, {32, 48}}, {32, {64, 96}}, {64, {128, 192, 256}}}};

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
  return best_rows(boxes.boxes, options, [&](std::size_t i) -> std::optional<Detection> {
    const float score = tables->scores.at(i, 1);
    if (!(score >= options.threshold))
      return std::nullopt;
    return offsets ? priors[i].box(boxes.four(i), score)
                   : reader->read(boxes.four(i), std::min(score, 1.0F), 0);
  });
}

// --- SCRFD, YuNet --------------------------------------------------------------------------------

// The tensors of one of the strides 8, 16, 32 and so on, each a row per cell, or several.
struct FaceGrid {
  std::size_t stride = 0; // pixels
  std::vector<const TensorValues *> scores;
  const TensorValues *boxes = nullptr;
  const TensorValues *points = nullptr; // of five key points; nullptr if the model has none

  // Four numbers of a row's box.
  [[nodiscard]] std::span<const float> box(std::size_t row) const
  {
    return boxes->values.subspan(4 * row, 4);
  }
  // Adds the key points of a row, which are offsets from the cell at x, y, in strides.
  void add_points(Detection &face, std::size_t row, float x, float y) const
  {
    for (std::size_t number = 0; points && number < kFacePoints; number++) {
      const auto at = points->values.subspan(2 * (kFacePoints * row + number), 2);
      face.key_points.push_back(
          {(x + at[0]) * static_cast<float>(stride), (y + at[1]) * static_cast<float>(stride)});
    }
  }
};

// For each stride `scores` tensors of rows x 1, one of rows x 4 and perhaps one of rows x 10, with
// `anchors` rows for each cell. Nullopt if tensors are missing or left over.
std::optional<std::vector<FaceGrid>> face_grids(Tensors tensors, const DecodeOptions &options,
                                                std::size_t strides, std::size_t anchors,
                                                std::size_t scores)
{
  std::vector<FaceGrid> grids(strides);
  for (std::size_t i = 0; i < strides; i++)
    grids[i].stride = std::size_t{8} << i;
  const auto take = [&](FaceGrid &grid, const TensorValues &tensor, const BoxTable &table) {
    const std::size_t cells =
        (options.input_width / grid.stride) * (options.input_height / grid.stride);
    if (table.boxes != cells * anchors)
      return false;
    if (table.columns == 1 && grid.scores.size() < scores) {
      grid.scores.push_back(&tensor);
      return true;
    }
    const TensorValues **place = table.columns == 4                 ? &grid.boxes
                                 : table.columns == 2 * kFacePoints ? &grid.points
                                                                    : nullptr;
    if (!place || *place)
      return false;
    *place = &tensor;
    return true;
  };
  for (const TensorValues &tensor : tensors) {
    const auto table = as_table(tensor, Order::BoxesFirst);
    if (!table || std::none_of(grids.begin(), grids.end(),
                               [&](FaceGrid &grid) { return take(grid, tensor, *table); }))
      return std::nullopt;
  }
  for (const FaceGrid &grid : grids)
    if (grid.scores.size() != scores || !grid.boxes || !grid.points != !grids.front().points)
      return std::nullopt;
  return grids;
}

// Of the scores of all grids, while the form is not settled.
Result<void> check_grids(const Decoder &decoder, Tensors tensors, const OutputForm &form,
                         const std::vector<FaceGrid> &grids)
{
  if (form.settled)
    return {};
  Range range;
  for (const FaceGrid &grid : grids)
    for (const TensorValues *scores : grid.scores)
      range.add(*scores);
  return check_probabilities(decoder, tensors, range);
}

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
Result<std::vector<Detection>> decode_scrfd(Tensors tensors, const DecodeOptions &options,
                                            OutputForm &form)
{
  const auto grids = scrfd_grids(tensors, options);
  if (!grids)
    return unusable(scrfd_decoder.word, tensors,
                    "it needs tensors of rows x 1, rows x 4 and maybe rows x 10 for each of the "
                    "strides 8, 16 and 32 with two rows in a cell, or 8 to 128 with one, of " +
                        input_text(options));
  if (const auto checked = check_grids(scrfd_decoder, tensors, form, *grids); !checked)
    return checked.error();
  std::vector<Detection> found;
  for (const FaceGrid &grid : *grids) {
    const std::span<const float> scores = grid.scores[0]->values;
    add_rows(found, scores.size(), [&](std::size_t i) -> std::optional<Detection> {
      if (!(scores[i] >= options.threshold))
        return std::nullopt;
      const auto pixels = static_cast<float>(grid.stride);
      const std::size_t cell = i / scrfd_anchors(tensors);
      const std::size_t width = options.input_width / grid.stride;
      const auto x = static_cast<float>(cell % width), y = static_cast<float>(cell / width);
      const std::span<const float> box = grid.box(i);
      Detection face{(x - box[0]) * pixels,
                     (y - box[1]) * pixels,
                     (box[0] + box[2]) * pixels,
                     (box[1] + box[3]) * pixels,
                     std::min(scores[i], 1.0F),
                     0,
                     {}};
      grid.add_points(face, i, x, y);
      return face;
    });
  }
  return best_of(std::move(found), options);
}

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

Result<std::vector<Detection>> decode_yunet(Tensors tensors, const DecodeOptions &options,
                                            OutputForm &form)
{
  const auto grids = yunet_grids(tensors, options);
  if (!grids)
    return unusable(yunet_decoder.word, tensors,
                    "it needs two tensors of cells x 1, one of cells x 4 and one of cells x 10 for "
                    "each of the strides 8, 16 and 32 of " +
                        input_text(options));
  if (const auto checked = check_grids(yunet_decoder, tensors, form, *grids); !checked)
    return checked.error();
  const float least = options.threshold * options.threshold;
  std::vector<Detection> found;
  for (const FaceGrid &grid : *grids)
    add_rows(found, grid.scores[0]->values.size(), [&](std::size_t i) -> std::optional<Detection> {
      const float first = grid.scores[0]->values[i], second = grid.scores[1]->values[i];
      if (!(first >= least) || !(second >= least)) // the product is not more than either
        return std::nullopt;
      const float score = std::sqrt(std::min(first, 1.0F) * std::min(second, 1.0F));
      if (!(score >= options.threshold))
        return std::nullopt;
      const auto pixels = static_cast<float>(grid.stride);
      const std::size_t width = options.input_width / grid.stride;
      const auto x = static_cast<float>(i % width), y = static_cast<float>(i / width);
      const std::span<const float> box = grid.box(i);
      Detection face;
      face.width = std::exp(box[2]) * pixels;
      face.height = std::exp(box[3]) * pixels;
      face.x = (x + box[0]) * pixels - face.width / 2;
      face.y = (y + box[1]) * pixels - face.height / 2;
      face.score = score;
      grid.add_points(face, i, x, y);
      return face;
    });
  return best_of(std::move(found), options);
}

} // namespace

const Decoder blazeface_decoder = {.word = "blazeface",
                                   .outputs = "N x 16 and N scores",
                                   .fits = fits_blazeface,
                                   .decode = decode_blazeface,
                                   .only_label = "face",
                                   .reads_scores = true};

const Decoder ultraface_decoder = {.word = "ultraface",
                                   .outputs = "scores N x 2, boxes N x 4",
                                   .fits = fits_ultraface,
                                   .decode = decode_ultraface,
                                   .only_label = "face",
                                   .reads_boxes = bit_of(BoxForm::Xyxy) | bit_of(BoxForm::Offsets),
                                   .reads_unit = true};

const Decoder retinaface_decoder = {.word = "retinaface",
                                    .outputs = "boxes N x 4, scores N x 2, key points N x 10",
                                    .fits = fits_retinaface,
                                    .decode = decode_retinaface,
                                    .only_label = "face"};

const Decoder scrfd_decoder = {.word = "scrfd",
                               .outputs = "score, bbox and kps for strides 8, 16, 32",
                               .fits = fits_scrfd,
                               .decode = decode_scrfd,
                               .only_label = "face"};

const Decoder yunet_decoder = {.word = "yunet",
                               .outputs = "cls, obj, bbox and kps for strides 8, 16, 32",
                               .fits = fits_yunet,
                               .decode = decode_yunet,
                               .only_label = "face"};

} // namespace gstdrm::metis
