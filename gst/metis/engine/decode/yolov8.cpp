// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder yolov8_decoder;

namespace {

constexpr const char *kYolov8 = "yolov8";
constexpr std::size_t kBins = 16;               // for one distance
constexpr std::size_t kBoxChannels = 4 * kBins; // left, up, right, down

struct YoloGrid {
  GridTensor boxes;
  GridTensor classes;
};

std::optional<GridTensor> as_boxes(const TensorValues &tensor)
{
  for (const bool channels_last : {true, false}) {
    const auto grid = as_grid(tensor, channels_last);
    if (grid && grid->channels == kBoxChannels)
      return grid;
  }
  return std::nullopt;
}

// The first tensor that is not taken and has the cells of `boxes`.
std::optional<GridTensor> take_classes(Tensors tensors, const GridTensor &boxes,
                                       std::vector<bool> &taken)
{
  for (std::size_t i = 0; i < tensors.size(); i++) {
    const auto grid = as_grid(tensors[i], boxes.channels_last);
    if (taken[i] || !grid || grid->width != boxes.width || grid->height != boxes.height)
      continue;
    taken[i] = true;
    return grid;
  }
  return std::nullopt;
}

// Finds the box and the class tensor of each stride. If a model has 64 classes, both have 64
// channels: the box tensor comes first.
Result<std::vector<YoloGrid>> find_grids(Tensors tensors)
{
  std::vector<YoloGrid> grids;
  std::vector<bool> taken(tensors.size(), false);
  for (std::size_t i = 0; i < tensors.size(); i++) {
    const auto boxes = taken[i] ? std::nullopt : as_boxes(tensors[i]);
    if (!boxes)
      continue;
    taken[i] = true;
    const auto classes = take_classes(tensors, *boxes, taken);
    if (!classes)
      return unusable(kYolov8, tensors,
                      "no class tensor has the " + std::to_string(boxes->width) + "x" +
                          std::to_string(boxes->height) + " cells of the boxes " + tensors[i].name);
    if (!grids.empty() && grids.front().classes.channels != classes->channels)
      return unusable(kYolov8, tensors, "the strides have different numbers of classes");
    grids.push_back({*boxes, *classes});
  }
  for (std::size_t i = 0; i < tensors.size(); i++)
    if (!taken[i])
      return unusable(kYolov8, tensors,
                      "no box tensor of 64 channels goes with " + tensors[i].name);
  if (grids.empty())
    return unusable(kYolov8, tensors, "it needs one tensor, or two for each stride");
  return grids;
}

// Numbers of a box, then a probability per class.
Result<std::vector<Detection>> decode_one(Tensors tensors, const DecodeOptions &options,
                                          OutputForm &form)
{
  const auto dims = trimmed(tensors[0].dims, 2);
  const auto table =
      as_table(tensors[0], dims[0] <= dims[1] ? Order::ColumnsFirst : Order::BoxesFirst);
  const auto reader =
      box_reader(yolov8_decoder, tensors, options, form, BoxForm::Cxcywh, BoxUnit::Pixels);
  if (!reader)
    return reader.error();
  const std::size_t classes = table->columns - 4;
  if (const auto checked = check_table(yolov8_decoder, tensors, form, *table, 4, classes); !checked)
    return checked.error();
  const ScoreReader scores(form, options);
  std::vector<Detection> found;
  for (std::size_t i = 0; i < table->boxes; i++) {
    const auto best =
        best_class(classes, scores.least, [&](std::size_t c) { return table->at(i, 4 + c); });
    const auto score = best ? scores.read(best->value) : std::nullopt;
    if (!score)
      continue;
    Detection object = reader->read(table->four(i), *score, best->label);
    if (is_real(object))
      found.push_back(std::move(object));
  }
  return best_of(std::move(found), options.iou_threshold, options.max_detections);
}

// A distance in cells: the mean of the bins' numbers, weighted by softmax.
float distance(const GridTensor &boxes, std::size_t x, std::size_t y, std::size_t side)
{
  std::array<float, kBins> bins{};
  for (std::size_t i = 0; i < kBins; i++)
    bins[i] = boxes.at(x, y, side * kBins + i);
  const float largest = *std::max_element(bins.begin(), bins.end());
  float sum = 0, weighted = 0;
  for (std::size_t i = 0; i < kBins; i++) {
    const float weight = std::exp(bins[i] - largest);
    sum += weight;
    weighted += weight * static_cast<float>(i);
  }
  return weighted / sum; // NaN if a bin is NaN
}

void decode_grid(const YoloGrid &grid, const ScoreReader &scores, const DecodeOptions &options,
                 std::vector<Detection> &found)
{
  const float cell_x =
      static_cast<float>(options.input_width) / static_cast<float>(grid.boxes.width);
  const float cell_y =
      static_cast<float>(options.input_height) / static_cast<float>(grid.boxes.height);
  for (std::size_t y = 0; y < grid.boxes.height; y++) {
    for (std::size_t x = 0; x < grid.boxes.width; x++) {
      const auto best = best_class(grid.classes.channels, scores.least,
                                   [&](std::size_t c) { return grid.classes.at(x, y, c); });
      const auto score = best ? scores.read(best->value) : std::nullopt;
      if (!score)
        continue;
      const float left = distance(grid.boxes, x, y, 0), up = distance(grid.boxes, x, y, 1);
      const float right = distance(grid.boxes, x, y, 2), down = distance(grid.boxes, x, y, 3);
      Detection object{(static_cast<float>(x) + 0.5F - left) * cell_x,
                       (static_cast<float>(y) + 0.5F - up) * cell_y,
                       (left + right) * cell_x,
                       (up + down) * cell_y,
                       *score,
                       best->label,
                       {}};
      if (is_real(object))
        found.push_back(std::move(object));
    }
  }
}

bool fits_yolov8(Tensors tensors, const DecodeOptions &)
{
  if (tensors.size() == 1) {
    const auto dims = trimmed(tensors[0].dims, 2);
    return dims.size() == 2 && std::min(dims[0], dims[1]) >= 5;
  }
  return tensors.size() % 2 == 0 &&
         std::any_of(tensors.begin(), tensors.end(),
                     [](const TensorValues &tensor) { return as_boxes(tensor).has_value(); });
}

// Either one tensor, (4 + classes) x N or N x (4 + classes), of centre, size and class scores; or
// for each stride a tensor of 64 channels (four distances in 16 bins each) and one of a channel per
// class, both N x H x W x C or both N x C x H x W.
Result<std::vector<Detection>> decode_yolov8(Tensors tensors, const DecodeOptions &options,
                                             OutputForm &form)
{
  for (const TensorValues &tensor : tensors)
    if (!is_whole(tensor))
      return unusable(kYolov8, tensors, "the values are not as many as the dimensions say");
  if (tensors.size() == 1) {
    const auto dims = trimmed(tensors[0].dims, 2);
    if (dims.size() != 2 || std::min(dims[0], dims[1]) < 5)
      return unusable(kYolov8, tensors, "one tensor has to be (4 + classes) x boxes");
    return decode_one(tensors, options, form);
  }
  const Result<std::vector<YoloGrid>> grids = find_grids(tensors);
  if (!grids)
    return grids.error();
  if (form.boxes != BoxForm::Unknown || form.unit != BoxUnit::Unknown)
    return unusable(kYolov8, tensors,
                    "boxes and box-unit are keys for one tensor, and tensors of strides have bins");
  if (const auto known = need_input_size(yolov8_decoder, tensors, options); !known)
    return known.error();
  if (form.scores == ScoreForm::Unknown) { // the model may contain the sigmoid
    Range range;
    for (const YoloGrid &grid : *grids) {
      range.add(grid.classes.values);
      range.step = std::max(range.step, grid.classes.step);
    }
    settle_scores(range, form);
  }
  std::vector<Detection> found;
  for (const YoloGrid &grid : *grids)
    decode_grid(grid, ScoreReader(form, options), options, found);
  return best_of(std::move(found), options.iou_threshold, options.max_detections);
}

} // namespace

const Decoder yolov8_decoder = {
    .word = kYolov8,
    .outputs = "(4 + classes) x N; or 64 channels and a channel per class, for each stride",
    .fits = fits_yolov8,
    .decode = decode_yolov8,
    .reads_scores = true,
    .reads_boxes = bit_of(BoxForm::Cxcywh) | bit_of(BoxForm::Xyxy),
    .reads_unit = true};

} // namespace gstdrm::metis
