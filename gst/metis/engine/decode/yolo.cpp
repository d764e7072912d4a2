// SPDX-License-Identifier: LGPL-2.1-or-later
// The families of YOLO, whose models give a row of numbers for each place of the picture.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder yolov8_decoder, yolov5_decoder, yolov10_decoder, yolox_decoder, pose_decoder,
    segment_decoder, obb_decoder, fastestdet_decoder;

namespace {

// The box of a row with the best of its classes, which are probabilities from column 4 on; nullopt
// if all are below the threshold.
std::optional<Detection> best_box(const BoxTable &table, const BoxReader &reader, std::size_t row,
                                  std::size_t classes, float threshold)
{
  const auto best =
      best_class(classes, threshold, [&](std::size_t c) { return table.at(row, 4 + c); });
  if (!best)
    return std::nullopt;
  return reader.read(table.four(row), std::min(best->value, 1.0F), best->label);
}

// --- YOLOv8 --------------------------------------------------------------------------------------

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
  const auto refuse = [&](const std::string &why) {
    return unusable(yolov8_decoder.word, tensors, why);
  };
  std::vector<YoloGrid> grids;
  std::vector<bool> taken(tensors.size(), false);
  for (std::size_t i = 0; i < tensors.size(); i++) {
    const auto boxes = taken[i] ? std::nullopt : as_boxes(tensors[i]);
    if (!boxes)
      continue;
    taken[i] = true;
    const auto classes = take_classes(tensors, *boxes, taken);
    if (!classes)
      return refuse("no class tensor has the " + std::to_string(boxes->width) + "x" +
                    std::to_string(boxes->height) + " cells of the boxes " + tensors[i].name);
    if (!grids.empty() && grids.front().classes.channels != classes->channels)
      return refuse("the strides have different numbers of classes");
    grids.push_back({*boxes, *classes});
  }
  for (std::size_t i = 0; i < tensors.size(); i++)
    if (!taken[i])
      return refuse("no box tensor of 64 channels goes with " + tensors[i].name);
  if (grids.empty())
    return refuse("it needs one tensor, or two for each stride");
  return grids;
}

bool is_one_table(const TensorValues &tensor)
{
  const auto dims = trimmed(tensor.dims, 2);
  return dims.size() == 2 && std::min(dims[0], dims[1]) >= 5;
}

// Numbers of a box, then a score per class.
Result<std::vector<Detection>> decode_one(Tensors tensors, const DecodeOptions &options,
                                          OutputForm &form)
{
  const auto dims = trimmed(tensors[0].dims, 2);
  const auto table =
      as_table(tensors[0], dims[0] <= dims[1] ? Order::ColumnsFirst : Order::BoxesFirst);
  const std::size_t classes = table->columns - 4;
  const auto reader =
      table_reader(yolov8_decoder, tensors, options, form, BoxForm::Cxcywh, *table, classes);
  if (!reader)
    return reader.error();
  const ScoreReader scores(form, options);
  return best_rows(table->boxes, options, [&](std::size_t i) -> std::optional<Detection> {
    const auto best =
        best_class(classes, scores.least, [&](std::size_t c) { return table->at(i, 4 + c); });
    const auto score = best ? scores.read(best->value) : std::nullopt;
    if (!score)
      return std::nullopt;
    return reader->read(table->four(i), *score, best->label);
  });
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
  const std::size_t width = grid.boxes.width, height = grid.boxes.height;
  const float cell_x = static_cast<float>(options.input_width) / static_cast<float>(width);
  const float cell_y = static_cast<float>(options.input_height) / static_cast<float>(height);
  add_rows(found, width * height, [&](std::size_t i) -> std::optional<Detection> {
    const std::size_t x = i % width, y = i / width;
    const auto best = best_class(grid.classes.channels, scores.least,
                                 [&](std::size_t c) { return grid.classes.at(x, y, c); });
    const auto score = best ? scores.read(best->value) : std::nullopt;
    if (!score)
      return std::nullopt;
    const float left = distance(grid.boxes, x, y, 0), up = distance(grid.boxes, x, y, 1);
    const float right = distance(grid.boxes, x, y, 2), down = distance(grid.boxes, x, y, 3);
    return Detection{(static_cast<float>(x) + 0.5F - left) * cell_x,
                     (static_cast<float>(y) + 0.5F - up) * cell_y,
                     (left + right) * cell_x,
                     (up + down) * cell_y,
                     *score,
                     best->label,
                     {}};
  });
}

bool fits_yolov8(Tensors tensors, const DecodeOptions &)
{
  if (tensors.size() == 1)
    return is_one_table(tensors[0]);
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
      return unusable(yolov8_decoder.word, tensors,
                      "the values are not as many as the dimensions say");
  if (tensors.size() == 1)
    return is_one_table(tensors[0]) ? decode_one(tensors, options, form)
                                    : unusable(yolov8_decoder.word, tensors,
                                               "one tensor has to be (4 + classes) x boxes");
  const Result<std::vector<YoloGrid>> grids = find_grids(tensors);
  if (!grids)
    return grids.error();
  if (form.boxes != BoxForm::Unknown || form.unit != BoxUnit::Unknown)
    return unusable(yolov8_decoder.word, tensors,
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
  return best_of(std::move(found), options);
}

// --- YOLOv5, YOLOv10, YOLOX ----------------------------------------------------------------------

constexpr std::size_t kObjectness = 4; // column, after centre and size; the classes follow

// The best class of a row: its value is objectness times class, both probabilities. Nullopt below
// the threshold.
std::optional<BestClass> best_of_row(const BoxTable &table, std::size_t row, float threshold)
{
  const float objectness = table.at(row, kObjectness);
  if (!(objectness >= threshold) || !std::isfinite(objectness)) // the product is not more
    return std::nullopt;
  auto best = best_class(table.columns - kObjectness - 1, threshold,
                         [&](std::size_t c) { return table.at(row, kObjectness + 1 + c); });
  if (!best)
    return std::nullopt;
  best->value = std::min(objectness, 1.0F) * std::min(best->value, 1.0F);
  return best->value >= threshold ? best : std::nullopt;
}

// One tensor N x (5 + classes), decoded by the model: centre and size in pixels of the input, then
// objectness and classes, which the model has made probabilities. Score: objectness times class.
// YOLOv7 gives the same.
bool fits_yolov5(Tensors tensors, const DecodeOptions &)
{
  const auto table = only_table(tensors, Order::BoxesFirst);
  return table && table->columns > kObjectness + 1 && table->boxes >= table->columns;
}

Result<std::vector<Detection>> decode_yolov5(Tensors tensors, const DecodeOptions &options,
                                             OutputForm &form)
{
  if (!fits_yolov5(tensors, options))
    return unusable(yolov5_decoder.word, tensors,
                    "it needs one tensor of boxes x (5 + classes), with more boxes than columns");
  const auto table = only_table(tensors, Order::BoxesFirst);
  const auto reader = table_reader(yolov5_decoder, tensors, options, form, BoxForm::Cxcywh, *table,
                                   table->columns - 4);
  if (!reader)
    return reader.error();
  return best_rows(table->boxes, options, [&](std::size_t i) -> std::optional<Detection> {
    const auto best = best_of_row(*table, i, options.threshold);
    if (!best)
      return std::nullopt;
    return reader->read(table->four(i), best->value, best->label);
  });
}

// One tensor N x 6: x1, y1, x2, y2 in pixels of the input, score, class. The model has removed
// boxes that overlap.
std::optional<BoxTable> yolov10_table(Tensors tensors)
{
  const auto table = only_table(tensors, Order::BoxesFirst);
  return table && table->columns == 6 ? table : std::nullopt;
}

bool fits_yolov10(Tensors tensors, const DecodeOptions &)
{
  const auto table = yolov10_table(tensors);
  return table && table->boxes >= table->columns;
}

Result<std::vector<Detection>> decode_yolov10(Tensors tensors, const DecodeOptions &options,
                                              OutputForm &form)
{
  const auto table = yolov10_table(tensors);
  if (!table)
    return unusable(yolov10_decoder.word, tensors, "it needs one tensor of boxes x 6");
  const auto reader =
      table_reader(yolov10_decoder, tensors, options, form, BoxForm::Xyxy, *table, 1);
  if (!reader)
    return reader.error();
  const auto object_of = [&](std::size_t i) -> std::optional<Detection> {
    const float score = table->at(i, 4);
    const auto label = label_of(std::round(table->at(i, 5))); // not whole if it was quantised
    if (!(score >= options.threshold) || !label)
      return std::nullopt;
    return reader->read(table->four(i), std::min(score, 1.0F), *label);
  };
  return best_rows(table->boxes, options, object_of, kKeepOverlapping);
}

// The cells of an input with strides 8, 16, 32 and so on.
std::size_t cells_of(const DecodeOptions &options, std::size_t strides)
{
  std::size_t cells = 0;
  for (std::size_t i = 0; i < strides; i++)
    cells += (std::size_t{options.input_width} >> (3 + i)) *
             (std::size_t{options.input_height} >> (3 + i));
  return cells;
}

// The number of strides, from 8 on, that have so many cells; 0 if there is none.
std::size_t yolox_strides(std::size_t cells, const DecodeOptions &options)
{
  for (const std::size_t strides : {std::size_t{3}, std::size_t{4}})
    if (cells > 0 && cells_of(options, strides) == cells)
      return strides;
  return 0;
}

// One tensor N x (5 + classes), a row for each cell of the strides 8, 16, 32 (and 64), one stride
// after the other, row by row: place in the cell and the logarithm of the size, both in cells;
// objectness and classes, which the model has made probabilities.
bool fits_yolox(Tensors tensors, const DecodeOptions &options)
{
  const auto table = only_table(tensors, Order::BoxesFirst);
  return table && table->columns > kObjectness + 1 && yolox_strides(table->boxes, options) != 0;
}

Result<std::vector<Detection>> decode_yolox(Tensors tensors, const DecodeOptions &options,
                                            OutputForm &form)
{
  if (!fits_yolox(tensors, options))
    return unusable(yolox_decoder.word, tensors,
                    "it needs one tensor of cells x (5 + classes), and " + input_text(options) +
                        " has " + std::to_string(cells_of(options, 3)) +
                        " cells in strides of 8, 16 and 32");
  const auto table = only_table(tensors, Order::BoxesFirst);
  if (!form.settled)
    if (const auto checked = check_probabilities(
            yolox_decoder, tensors, range_of(*table, kObjectness, table->columns - kObjectness));
        !checked)
      return checked.error();
  std::vector<Detection> found;
  for (std::size_t n = 0; n < yolox_strides(table->boxes, options); n++) {
    const std::size_t stride = std::size_t{8} << n, first = cells_of(options, n);
    const std::size_t width = options.input_width / stride, height = options.input_height / stride;
    const auto pixels = static_cast<float>(stride);
    add_rows(found, width * height, [&](std::size_t cell) -> std::optional<Detection> {
      const std::size_t row = first + cell;
      const auto best = best_of_row(*table, row, options.threshold);
      if (!best)
        return std::nullopt;
      const auto [x, y, log_width, log_height] = table->four(row);
      const float box_width = std::exp(log_width) * pixels;
      const float box_height = std::exp(log_height) * pixels;
      return Detection{(x + static_cast<float>(cell % width)) * pixels - box_width / 2,
                       (y + static_cast<float>(cell / width)) * pixels - box_height / 2,
                       box_width,
                       box_height,
                       best->value,
                       best->label,
                       {}};
    });
  }
  return best_of(std::move(found), options);
}

// --- key points, masks, rotated boxes ------------------------------------------------------------

constexpr std::size_t kPosePoint = 5;     // after centre, size and score
constexpr std::size_t kPersonPoints = 17; // of COCO

// YOLOv8-pose: one tensor (5 + 3 key points) x N: centre and size in pixels of the input, score,
// and x, y and visibility of each key point. Those of COCO's persons are 17, and only these are
// recognised, because other numbers are as likely classes of YOLOv8.
bool fits_pose(Tensors tensors, const DecodeOptions &)
{
  const auto table = only_table(tensors, Order::ColumnsFirst);
  return table && table->columns == kPosePoint + 3 * kPersonPoints && table->boxes > table->columns;
}

Result<std::vector<Detection>> decode_pose(Tensors tensors, const DecodeOptions &options,
                                           OutputForm &form)
{
  const auto table = only_table(tensors, Order::ColumnsFirst);
  if (!table || table->columns <= kPosePoint || (table->columns - kPosePoint) % 3 != 0 ||
      table->boxes < table->columns)
    return unusable(
        pose_decoder.word, tensors,
        "it needs one tensor of (5 + 3 x key points) x boxes, with more boxes than rows");
  const auto reader =
      table_reader(pose_decoder, tensors, options, form, BoxForm::Cxcywh, *table, 1);
  if (!reader)
    return reader.error();
  return best_rows(table->boxes, options, [&](std::size_t i) {
    auto person = best_box(*table, *reader, i, 1, options.threshold);
    for (std::size_t column = kPosePoint; person && column < table->columns; column += 3)
      person->key_points.push_back(
          {table->at(i, column) * reader->scale_x, table->at(i, column + 1) * reader->scale_y});
    return person;
  });
}

struct SegmentTensors {
  BoxTable table;
  GridTensor prototypes; // masks that all masks of a frame are sums of

  [[nodiscard]] std::size_t classes() const { return table.columns - 4 - prototypes.channels; }
};

std::optional<GridTensor> as_prototypes(const TensorValues &tensor)
{
  const auto dims = trimmed(tensor.dims, 3);
  // a column of scores is no map
  if (dims.size() != 3 || !is_whole(tensor) || *std::min_element(dims.begin(), dims.end()) < 2)
    return std::nullopt;
  return as_grid(tensor, dims[0] > dims[2]);
}

std::optional<SegmentTensors> segment_tensors(Tensors tensors)
{
  if (tensors.size() != 2)
    return std::nullopt;
  for (const std::size_t first : {0, 1}) {
    const auto table = as_table(tensors[first], Order::ColumnsFirst);
    const auto prototypes = as_prototypes(tensors[1 - first]);
    if (table && prototypes && table->boxes > table->columns &&
        table->columns > 4 + prototypes->channels)
      return SegmentTensors{*table, *prototypes};
  }
  return std::nullopt;
}

bool fits_segment(Tensors tensors, const DecodeOptions &)
{
  return segment_tensors(tensors).has_value();
}

// The part of the object's mask that covers its box, in whole cells of the prototypes.
Mask mask_of(const Detection &object, std::size_t row, const SegmentTensors &model,
             const DecodeOptions &options)
{
  const GridTensor &prototypes = model.prototypes;
  const float cell_x =
      static_cast<float>(options.input_width) / static_cast<float>(prototypes.width);
  const float cell_y =
      static_cast<float>(options.input_height) / static_cast<float>(prototypes.height);
  const auto place = [](float at, std::size_t most) {
    return static_cast<std::size_t>(std::clamp(at, 0.0F, static_cast<float>(most)));
  };
  const std::size_t left = place(std::floor(object.x / cell_x), prototypes.width);
  const std::size_t top = place(std::floor(object.y / cell_y), prototypes.height);
  const std::size_t right = place(std::ceil((object.x + object.width) / cell_x), prototypes.width);
  const std::size_t bottom =
      place(std::ceil((object.y + object.height) / cell_y), prototypes.height);
  if (right <= left || bottom <= top)
    return {};
  const std::size_t first = model.table.columns - prototypes.channels;
  Mask mask{static_cast<float>(left) * cell_x,
            static_cast<float>(top) * cell_y,
            static_cast<float>(right - left) * cell_x,
            static_cast<float>(bottom - top) * cell_y,
            right - left,
            {}};
  mask.values.reserve((right - left) * (bottom - top));
  for (std::size_t y = top; y < bottom; y++)
    for (std::size_t x = left; x < right; x++) {
      float logit = 0;
      for (std::size_t i = 0; i < prototypes.channels; i++)
        logit += model.table.at(row, first + i) * prototypes.at(x, y, i);
      const float value = std::isnan(logit) ? 0 : sigmoid(logit);
      mask.values.push_back(static_cast<std::uint8_t>(std::lround(value * 255)));
    }
  return mask;
}

// YOLOv8-seg: one tensor (4 + classes + coefficients) x N, of centre, size, a probability per class
// and the coefficients of the mask, and the prototypes, coefficients x H x W.
Result<std::vector<Detection>> decode_segment(Tensors tensors, const DecodeOptions &options,
                                              OutputForm &form)
{
  const auto model = segment_tensors(tensors);
  if (!model)
    return unusable(segment_decoder.word, tensors,
                    "it needs prototypes of coefficients x height x width, and a tensor of (4 + "
                    "classes + coefficients) x boxes with more boxes than rows");
  if (const auto known = need_input_size(segment_decoder, tensors, options); !known)
    return known.error();
  const auto reader = table_reader(segment_decoder, tensors, options, form, BoxForm::Cxcywh,
                                   model->table, model->classes());
  if (!reader)
    return reader.error();
  auto found = best_rows(model->table.boxes, options, [&](std::size_t i) {
    auto object = best_box(model->table, *reader, i, model->classes(), options.threshold);
    if (object)
      object->row = i;
    return object;
  });
  for (Detection &object : found)
    object.mask = mask_of(object, object.row, *model, options);
  return found;
}

// The corners in order, for an angle in radians from the x axis towards the y axis, which points
// down.
std::vector<KeyPoint> corners_of(const Detection &upright, float angle)
{
  const KeyPoint centre{upright.x + upright.width / 2, upright.y + upright.height / 2};
  const float cosine = std::cos(angle) / 2, sine = std::sin(angle) / 2;
  const KeyPoint along{upright.width * cosine, upright.width * sine};
  const KeyPoint across{-upright.height * sine, upright.height * cosine};
  return {{centre.x - along.x - across.x, centre.y - along.y - across.y},
          {centre.x + along.x - across.x, centre.y + along.y - across.y},
          {centre.x + along.x + across.x, centre.y + along.y + across.y},
          {centre.x - along.x + across.x, centre.y - along.y + across.y}};
}

// The upright box around the corners.
Detection around(std::vector<KeyPoint> corners, float score, std::uint32_t label)
{
  const auto [left, right] = std::minmax({corners[0].x, corners[1].x, corners[2].x, corners[3].x});
  const auto [top, bottom] = std::minmax({corners[0].y, corners[1].y, corners[2].y, corners[3].y});
  return {left, top, right - left, bottom - top, score, label, std::move(corners)};
}

// Twice the signed area of the triangle a, b, c.
double turn(const KeyPoint &a, const KeyPoint &b, const KeyPoint &c)
{
  return (static_cast<double>(b.x) - a.x) * (static_cast<double>(c.y) - a.y) -
         (static_cast<double>(b.y) - a.y) * (static_cast<double>(c.x) - a.x);
}

double area_of(const std::vector<KeyPoint> &polygon)
{
  double twice = 0;
  for (std::size_t i = 2; i < polygon.size(); i++)
    twice += turn(polygon[0], polygon[i - 1], polygon[i]);
  return std::abs(twice) / 2;
}

// The part of the polygon on the side of a line where turn() is not negative
// (Sutherland and Hodgman).
std::vector<KeyPoint> cut(const std::vector<KeyPoint> &polygon, const KeyPoint &from,
                          const KeyPoint &to)
{
  std::vector<KeyPoint> inside;
  for (std::size_t i = 0; i < polygon.size(); i++) {
    const KeyPoint &point = polygon[i], &next = polygon[(i + 1) % polygon.size()];
    const double here = turn(from, to, point), there = turn(from, to, next);
    if (here >= 0)
      inside.push_back(point);
    if ((here < 0) == (there < 0))
      continue;
    const auto part = static_cast<float>(here / (here - there));
    inside.push_back({point.x + part * (next.x - point.x), point.y + part * (next.y - point.y)});
  }
  return inside;
}

// Intersection over union of the rotated boxes.
float rotated_overlap(const Detection &a, const Detection &b)
{
  std::vector<KeyPoint> common = a.key_points;
  for (std::size_t i = 0; i < b.key_points.size() && !common.empty(); i++)
    common = cut(common, b.key_points[i], b.key_points[(i + 1) % b.key_points.size()]);
  const double intersection = area_of(common);
  const double both = area_of(a.key_points) + area_of(b.key_points) - intersection;
  return both > 0 ? static_cast<float>(intersection / both) : 0;
}

// YOLOv8-obb: one tensor (5 + classes) x N: centre and size, a probability per class, and an angle
// in radians. The key points of an object are the corners of its rotated box. Not recognised by its
// dimensions, which are those of YOLOv8 with another class.
Result<std::vector<Detection>> decode_obb(Tensors tensors, const DecodeOptions &options,
                                          OutputForm &form)
{
  constexpr std::size_t kLeastColumns = 6; // centre, size, one class, angle
  const auto table = only_table(tensors, Order::ColumnsFirst);
  if (!table || table->columns < kLeastColumns || table->boxes < table->columns)
    return unusable(obb_decoder.word, tensors,
                    "it needs one tensor of (5 + classes) x boxes, with more boxes than rows");
  const std::size_t classes = table->columns - 5;
  const auto reader =
      table_reader(obb_decoder, tensors, options, form, BoxForm::Cxcywh, *table, classes);
  if (!reader)
    return reader.error();
  std::vector<Detection> found;
  add_rows(found, table->boxes, [&](std::size_t i) -> std::optional<Detection> {
    const auto upright = best_box(*table, *reader, i, classes, options.threshold);
    if (!upright || !is_real(*upright))
      return std::nullopt;
    return around(corners_of(*upright, table->at(i, table->columns - 1)), upright->score,
                  upright->label);
  });
  return best_of(std::move(found), options.iou_threshold, options.max_detections, rotated_overlap);
}

// --- FastestDet ----------------------------------------------------------------------------------

// One tensor (5 + classes) x H x W over cells of 16 pixels: objectness, place from the cell's
// corner as tanh's argument, size as the sigmoid's argument, classes after softmax. Score:
// objectness^0.6 times class^0.4. Not recognised by its dimensions, which a map of classes has too.
Result<std::vector<Detection>> decode_fastestdet(Tensors tensors, const DecodeOptions &options,
                                                 OutputForm &form)
{
  constexpr std::size_t kStride = 16, kClass = 5; // after objectness and four numbers of the box
  const std::size_t width = options.input_width / kStride, height = options.input_height / kStride;
  const std::vector<std::size_t> dims =
      tensors.size() == 1 ? trimmed(tensors[0].dims, 3) : std::vector<std::size_t>();
  if (dims.size() != 3 || dims[0] <= kClass || dims[1] != height || dims[2] != width ||
      !is_whole(tensors[0]))
    return unusable(fastestdet_decoder.word, tensors,
                    "it needs one tensor of (5 + classes) x " + std::to_string(height) + " x " +
                        std::to_string(width) + ", the cells of 16 pixels of the input");
  const std::size_t cells = width * height, classes = dims[0] - kClass;
  const std::span<const float> values = tensors[0].values;
  if (!form.settled) {
    Range range;
    range.add(values.first(cells));
    range.add(values.subspan(kClass * cells));
    range.step = tensors[0].step;
    if (const auto checked = check_probabilities(fastestdet_decoder, tensors, range); !checked)
      return checked.error();
  }
  // with the other factor at 1
  const float least_objectness = std::pow(options.threshold, 1 / 0.6F) - 0.001F;
  const float least_class = std::pow(options.threshold, 1 / 0.4F) - 0.001F;
  return best_rows(cells, options, [&](std::size_t i) -> std::optional<Detection> {
    const float objectness = values[i];
    if (!(objectness >= least_objectness))
      return std::nullopt;
    const auto best = best_class(classes, least_class,
                                 [&](std::size_t c) { return values[(kClass + c) * cells + i]; });
    if (!best)
      return std::nullopt;
    const float score =
        std::pow(std::min(objectness, 1.0F), 0.6F) * std::pow(std::min(best->value, 1.0F), 0.4F);
    if (!(score >= options.threshold))
      return std::nullopt;
    const auto number = [&](std::size_t n) { return values[(1 + n) * cells + i]; };
    Detection object;
    object.width = sigmoid(number(2)) * static_cast<float>(options.input_width);
    object.height = sigmoid(number(3)) * static_cast<float>(options.input_height);
    object.x = (static_cast<float>(i % width) + std::tanh(number(0))) / static_cast<float>(width) *
                   static_cast<float>(options.input_width) -
               object.width / 2;
    object.y = (static_cast<float>(i / width) + std::tanh(number(1))) / static_cast<float>(height) *
                   static_cast<float>(options.input_height) -
               object.height / 2;
    object.score = score;
    object.label = best->label;
    return object;
  });
}

} // namespace

const Decoder yolov8_decoder = {
    .word = "yolov8",
    .outputs = "(4 + classes) x N; or 64 channels and a channel per class, for each stride",
    .fits = fits_yolov8,
    .decode = decode_yolov8,
    .reads_scores = true,
    .reads_boxes = bit_of(BoxForm::Cxcywh) | bit_of(BoxForm::Xyxy),
    .reads_unit = true};

const Decoder yolov5_decoder = {.word = "yolov5",
                                .outputs = "N x (5 + classes), decoded",
                                .fits = fits_yolov5,
                                .decode = decode_yolov5,
                                .reads_boxes = bit_of(BoxForm::Cxcywh) | bit_of(BoxForm::Xyxy),
                                .reads_unit = true};

const Decoder yolov10_decoder = {.word = "yolov10",
                                 .outputs = "N x 6: corners, score, class",
                                 .fits = fits_yolov10,
                                 .decode = decode_yolov10,
                                 .reads_boxes = bit_of(BoxForm::Xyxy) | bit_of(BoxForm::Cxcywh),
                                 .reads_unit = true};

const Decoder yolox_decoder = {.word = "yolox",
                               .outputs = "N x (5 + classes), N cells of strides 8, 16, 32",
                               .fits = fits_yolox,
                               .decode = decode_yolox};

const Decoder pose_decoder = {.word = "pose",
                              .outputs = "(5 + 3 x key points) x N",
                              .fits = fits_pose,
                              .decode = decode_pose,
                              .only_label = "person",
                              .reads_unit = true};

const Decoder segment_decoder = {.word = "segment",
                                 .outputs = "(4 + classes + coefficients) x N, and prototypes",
                                 .fits = fits_segment,
                                 .decode = decode_segment,
                                 .reads_unit = true};

const Decoder obb_decoder = {.word = "obb",
                             .outputs = "(5 + classes) x N, the last an angle",
                             .fits = nullptr,
                             .decode = decode_obb,
                             .reads_unit = true};

const Decoder fastestdet_decoder = {.word = "fastestdet",
                                    .outputs = "(5 + classes) x H x W, cells of 16 pixels",
                                    .fits = nullptr,
                                    .decode = decode_fastestdet};

} // namespace gstdrm::metis
