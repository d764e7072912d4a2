// SPDX-License-Identifier: LGPL-2.1-or-later
// Each family of models on tensors whose objects were worked out by hand, and on tensors of other families.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "decode_tensors.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::metis;
using namespace gstdrm::test;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

using Numbers = std::vector<float>;
using Tensor = std::function<std::vector<Owned>()>;

// Boxes of so many columns, all 0 except the row `at`.
Owned table(std::size_t boxes, std::size_t columns, std::size_t at, const Numbers &row)
{
  Owned tensor{"output0", {1, boxes, columns}, Numbers(boxes * columns, 0.0F)};
  std::copy(row.begin(), row.end(), tensor.values.begin() + static_cast<std::ptrdiff_t>(at * columns));
  return tensor;
}

// The same with the columns outside.
Owned columns(std::size_t boxes, std::size_t n, std::size_t at, const Numbers &row)
{
  Owned tensor{"output0", {1, n, boxes}, Numbers(boxes * n, 0.0F)};
  for (std::size_t i = 0; i < row.size(); i++)
    tensor.values[i * boxes + at] = row[i];
  return tensor;
}

// YOLOX of a 64x32 input with 2 classes: 8x4 + 4x2 + 2x1 cells.
constexpr std::size_t kXCells = 42;
Owned yolox(std::size_t at, const Numbers &row)
{
  return table(kXCells, 7, at, row);
}

Owned yolov5(const Numbers &row)
{
  return table(20, 7, 3, row);
}

Owned yolov10(const Numbers &row)
{
  return table(12, 6, 0, row);
}

// Three key points: x, y, visibility.
Owned pose(const Numbers &row)
{
  return columns(20, 14, 6, row);
}

// UltraFace of a 64x64 input: 8x8x3 + 4x4x2 + 2x2x2 + 1x1x3 priors.
constexpr std::size_t kPriors = 235;
std::vector<Owned> ultraface(std::size_t at, float score, const Numbers &box)
{
  Owned scores{"scores", {1, kPriors, 2}, Numbers(kPriors * 2, 0.0F)};
  for (std::size_t i = 0; i < kPriors; i++)
    scores.values[2 * i] = 1; // background
  scores.values[2 * at] = 1 - score;
  scores.values[2 * at + 1] = score;
  Owned boxes = table(kPriors, 4, at, box);
  boxes.name = "boxes";
  return {scores, boxes};
}

// RetinaFace of a 64x64 input: (8x8 + 4x4 + 2x2) x 2 priors.
constexpr std::size_t kRetinaPriors = 168;
std::vector<Owned> retinaface(std::size_t at, float score, const Numbers &box, const Numbers &points = {})
{
  return {table(kRetinaPriors, 4, at, box), table(kRetinaPriors, 2, at, {1 - score, score}), table(kRetinaPriors, 10, at, points)};
}

// SCRFD: rows for strides of 8 on, with so many anchors in a cell.
std::vector<Owned> scrfd(const DecodeOptions &options, std::size_t n_strides, std::size_t stride, std::size_t at, float score, const Numbers &box, const Numbers &points = {})
{
  std::vector<Owned> tensors;
  for (const std::size_t width : {1, 4, 10})
    for (std::size_t i = 0; i < n_strides; i++) {
      const std::size_t n = std::size_t{8} << i, rows = (options.input_width / n) * (options.input_height / n) * (n_strides == 3 ? 2 : 1);
      const Numbers row = n != stride ? Numbers() : width == 4 ? box : width == 10 ? points : Numbers{score};
      tensors.push_back(table(rows, width, n == stride ? at : 0, row));
    }
  return tensors;
}

// YOLOv8-seg of a 64x32 input with one class and two prototypes of 4x2 cells.
std::vector<Owned> segment(const Numbers &row, const Numbers &first, const Numbers &second)
{
  Owned prototypes{"output1", {1, 2, 2, 4}, first};
  prototypes.values.insert(prototypes.values.end(), second.begin(), second.end());
  return {columns(20, 7, 3, row), prototypes};
}

// YOLOv8-obb with two classes.
Owned obb(const Numbers &row, const Numbers &other = {})
{
  Owned tensor = columns(20, 7, 3, row);
  for (std::size_t i = 0; i < other.size(); i++)
    tensor.values[i * 20 + 4] = other[i];
  return tensor;
}

// YuNet of a 64x32 input: 32, 8 and 2 cells.
std::vector<Owned> yunet(std::size_t stride, std::size_t at, float cls, float obj, const Numbers &box, const Numbers &points)
{
  std::vector<Owned> tensors;
  for (const char *kind : {"cls", "obj", "bbox", "kps"})
    for (const std::size_t n : {8, 16, 32}) {
      const std::size_t cells = (64 / n) * (32 / n);
      const std::size_t width = std::string(kind) == "bbox" ? 4 : std::string(kind) == "kps" ? 10 : 1;
      const Numbers row = n != stride ? Numbers() : width == 4 ? box : width == 10 ? points : Numbers{std::string(kind) == "cls" ? cls : obj};
      tensors.push_back(table(cells, width, n == stride ? at : 0, row));
      tensors.back().name = std::string(kind) + "_" + std::to_string(n);
    }
  return tensors;
}

// FastestDet of a 64x32 input with 2 classes: 4x2 cells.
Owned fastestdet(std::size_t cell, const Numbers &row)
{
  Owned tensor{"758", {1, 7, 2, 4}, Numbers(56, 0.0F)};
  for (std::size_t i = 0; i < row.size(); i++)
    tensor.values[i * 8 + cell] = row[i];
  return tensor;
}

Owned scores(std::vector<std::size_t> dims, const Numbers &values)
{
  return {"prob", std::move(dims), values};
}

const DecodeOptions kWide = options_of(64, 32), kSquare = options_of(64, 64), kUnknown = options_of(0, 0);
const float kQuarter = std::atan(1.0F); // of a half turn
const float kLog2 = std::log(2.0F), kLog3 = std::log(3.0F);

DecodeOptions from(DecodeOptions options, float threshold)
{
  options.threshold = threshold;
  return options;
}

struct Row {
  const char *name;
  const char *said;
  DecodeOptions options;
  Tensor tensors;
  const char *expected;
};

std::ostream &operator<<(std::ostream &out, const Row &row)
{
  return out << row.name;
}

const Row kFound[] = {
    // cell 9 of stride 8 is x 1, y 1: centre (1 + .5) * 8 = 12, (1 + .25) * 8 = 10; size 2 * 8, 3 * 8; 0.9 * 0.8
    {"yolox, stride 8", "yolox", kWide, [] { return std::vector{yolox(9, {0.5F, 0.25F, kLog2, kLog3, 0.9F, 0.1F, 0.8F})}; }, "1 72% 4 -2 16 24"},
    // row 32 + 5 is x 1, y 1 of stride 16: centre 16, 16; size 16, 32
    {"yolox, stride 16", "yolox", kWide, [] { return std::vector{yolox(37, {0, 0, 0, kLog2, 1, 1, 0})}; }, "0 100% 8 0 16 32"},
    // the last row is x 1, y 0 of stride 32: centre (1 + .5) * 32, .5 * 32; size 32, 32
    {"yolox, stride 32", "yolox", kWide, [] { return std::vector{yolox(41, {0.5F, 0.5F, 0, 0, 0.8F, 0.8F, 0})}; }, "0 64% 32 0 32 32"},
    {"yolox, the product is below the threshold", "yolox", kWide, [] { return std::vector{yolox(9, {0, 0, 0, 0, 0.7F, 0.7F, 0})}; }, ""},
    {"yolox, two cells with one object", "yolox", kWide, [] { auto t = yolox(9, {1, 0, 0, 0, 0.9F, 1, 0}); const auto again = yolox(10, {0, 0, 0, 0, 0.8F, 1, 0}); std::copy_n(again.values.begin() + 70, 7, t.values.begin() + 70); return std::vector{t}; }, "0 90% 12 4 8 8"},
    {"yolox, a size beyond floats", "yolox", kWide, [] { return std::vector{yolox(9, {0, 0, 1000, 0, 1, 1, 0})}; }, ""},
    {"yolox, NaN in a place", "yolox", kWide, [] { return std::vector{yolox(9, {kNan, 0, 0, 0, 1, 1, 0})}; }, ""},
    {"yolox, NaN and infinite scores", "yolox", kWide, [] { return std::vector{yolox(9, {0, 0, 0, 0, kInf, 1, kNan})}; }, ""},
    {"yolox, the other class is infinite", "yolox", kWide, [] { return std::vector{yolox(9, {0, 0, 0, 0, 1, kInf, 0.75F})}; }, "1 75% 4 4 8 8"},

    {"yolov5", "yolov5", kWide, [] { return std::vector{yolov5({20, 10, 8, 4, 0.9F, 0.2F, 0.8F})}; }, "1 72% 16 8 8 4"},
    {"yolov5, normalised", "yolov5,box-unit=normalised", kWide, [] { return std::vector{yolov5({0.5F, 0.5F, 0.25F, 0.5F, 1, 1, 0})}; }, "0 100% 24 8 16 16"},
    {"yolov5, corners", "yolov5,boxes=xyxy", kWide, [] { return std::vector{yolov5({2, 3, 10, 8, 1, 1, 0})}; }, "0 100% 2 3 8 5"},
    {"yolov5, an input of unknown size", "yolov5", kUnknown, [] { return std::vector{yolov5({20, 10, 8, 4, 1, 1, 0})}; }, "0 100% 16 8 8 4"},
    {"yolov5, NaN objectness", "yolov5", kWide, [] { return std::vector{yolov5({20, 10, 8, 4, kNan, 1, 1})}; }, ""},
    {"yolov5, an infinite width", "yolov5", kWide, [] { return std::vector{yolov5({20, 10, kInf, 4, 1, 1, 0})}; }, ""},
    {"yolov5, a width below 0", "yolov5", kWide, [] { return std::vector{yolov5({20, 10, -8, 4, 1, 1, 0})}; }, ""},

    {"yolov10", "yolov10", kWide, [] { return std::vector{yolov10({2, 3, 10, 8, 0.75F, 16})}; }, "16 75% 2 3 8 5"},
    {"yolov10, the class of a quantised model", "yolov10", kWide, [] { return std::vector{yolov10({2, 3, 10, 8, 0.75F, 15.9F})}; }, "16 75% 2 3 8 5"},
    {"yolov10, normalised", "yolov10,box-unit=normalised", kWide, [] { return std::vector{yolov10({0.25F, 0.25F, 0.5F, 0.5F, 0.75F, 0})}; }, "0 75% 16 8 16 8"},
    {"yolov10, centre and size", "yolov10,boxes=cxcywh", kWide, [] { return std::vector{yolov10({10, 8, 4, 6, 0.75F, 0})}; }, "0 75% 8 5 4 6"},
    {"yolov10, corners the wrong way round", "yolov10", kWide, [] { return std::vector{yolov10({10, 8, 2, 3, 0.75F, 0})}; }, ""},
    {"yolov10, no class", "yolov10", kWide, [] { return std::vector{yolov10({2, 3, 10, 8, 0.75F, kNan})}; }, ""},
    {"yolov10, a class below 0", "yolov10", kWide, [] { return std::vector{yolov10({2, 3, 10, 8, 0.75F, -1})}; }, ""},

    {"pose", "pose", kWide, [] { return std::vector{pose({20, 10, 8, 4, 0.9F, 1, 2, 1})}; }, "0 90% 16 8 8 4"},
    {"pose, NaN", "pose", kWide, [] { return std::vector{pose({kNan, 10, 8, 4, 0.9F})}; }, ""},

    {"ultraface", "ultraface", kSquare, [] { return ultraface(7, 0.9F, {0.25F, 0.5F, 0.5F, 1}); }, "0 90% 16 32 16 32"},
    {"ultraface, boxes before scores", "ultraface", kSquare, [] { auto t = ultraface(7, 0.9F, {0.25F, 0.5F, 0.5F, 1}); std::swap(t[0], t[1]); return t; }, "0 90% 16 32 16 32"},
    {"ultraface, in pixels", "ultraface,box-unit=pixels", kSquare, [] { return ultraface(7, 0.9F, {1, 2, 11, 22}); }, "0 90% 1 2 10 20"},
    // row 4 is the second prior of the cell x 1, y 0: centre 12, 4 and size 16; 12 + .1 * 16 * 1 = 13.6, 16 * 2 = 32
    {"ultraface, offsets", "ultraface,boxes=offsets", kSquare, [] { return ultraface(4, 0.9F, {1, 0, 5 * kLog2, 0}); }, "0 90% -2 -4 32 16"},
    // the last one: size 256 about 32, 32
    {"ultraface, the last prior", "ultraface,boxes=offsets", kSquare, [] { return ultraface(234, 0.9F, {0, 0, 0, 0}); }, "0 90% -96 -96 256 256"},
    // 192 is the first prior of stride 16: size 32 about 8, 8
    {"ultraface, the first prior of 16 pixels", "ultraface,boxes=offsets", kSquare, [] { return ultraface(192, 0.9F, {0, 0, 0, 0}); }, "0 90% -8 -8 32 32"},
    {"ultraface, a size beyond floats", "ultraface,boxes=offsets", kSquare, [] { return ultraface(4, 0.9F, {0, 0, 1e6F, 0}); }, ""},
    {"ultraface, NaN", "ultraface", kSquare, [] { return ultraface(7, kNan, {0, 0, 1, 1}); }, ""},

    // row 5 is the second prior of the cell x 2, y 0: centre 20, 4 and size 32; 20 + .1 * 32 * 1 = 23.2, 32 * 2 = 64
    {"retinaface", "retinaface", kSquare, [] { return retinaface(5, 0.9F, {1, 0, 0, 5 * kLog2}); }, "0 90% 7 -28 32 64"},
    {"retinaface, without key points", "retinaface", kSquare, [] { auto t = retinaface(5, 0.9F, {0, 0, 0, 0}); t.pop_back(); return t; }, "0 90% 4 -12 32 32"},
    {"retinaface, the first prior of 16 pixels", "retinaface", kSquare, [] { return retinaface(128, 0.9F, {0, 0, 0, 0}); }, "0 90% -24 -24 64 64"},
    {"retinaface, the last prior", "retinaface", kSquare, [] { return retinaface(167, 0.9F, {0, 0, 0, 0}); }, "0 90% -208 -208 512 512"},
    {"retinaface, a size beyond floats", "retinaface", kSquare, [] { return retinaface(5, 0.9F, {0, 0, 1e6F, 0}); }, ""},

    // row 21 is the second anchor of the cell x 2, y 1: (2 - 1) * 8, (1 - .5) * 8; size (1 + 2) * 8, (.5 + 1) * 8
    {"scrfd, stride 8", "scrfd", kWide, [] { return scrfd(kWide, 3, 8, 21, 0.9F, {1, 0.5F, 2, 1}); }, "0 90% 8 4 24 12"},
    {"scrfd, stride 32", "scrfd", kWide, [] { return scrfd(kWide, 3, 32, 2, 0.9F, {0.5F, 0, 0.5F, 1}); }, "0 90% 16 0 32 32"},
    {"scrfd, without key points", "scrfd", kWide, [] { auto t = scrfd(kWide, 3, 8, 21, 0.9F, {1, 0.5F, 2, 1}); t.resize(6); return t; }, "0 90% 8 4 24 12"},
    {"scrfd, five strides", "scrfd", options_of(128, 128), [] { return scrfd(options_of(128, 128), 5, 128, 0, 0.9F, {0, 0, 1, 0.5F}); }, "0 90% 0 0 128 64"},
    {"scrfd, NaN and infinite", "scrfd", kWide, [] { return scrfd(kWide, 3, 8, 21, 1, {kNan, 0, kInf, 1}); }, ""},

    {"segment", "segment", kWide, [] { return segment({32, 16, 32, 16, 0.75F, 1, -1}, Numbers(8, 0.0F), Numbers(8, 0.0F)); }, "0 75% 16 8 32 16"},
    {"segment, prototypes first", "segment", kWide, [] { auto t = segment({32, 16, 32, 16, 0.75F, 1, -1}, Numbers(8, 0.0F), Numbers(8, 0.0F)); std::swap(t[0], t[1]); return t; }, "0 75% 16 8 32 16"},
    {"segment, NaN in the prototypes", "segment", kWide, [] { return segment({32, 16, 32, 16, 0.75F, 1, -1}, Numbers(8, kNan), Numbers(8, kInf)); }, "0 75% 16 8 32 16"},
    {"segment, beside the input", "segment", kWide, [] { return segment({-100, 16, 32, 16, 0.75F, 1, -1}, Numbers(8, 0.0F), Numbers(8, 0.0F)); }, "0 75% -116 8 32 16"},

    {"obb, upright", "obb", kWide, [] { return std::vector{obb({20, 10, 8, 4, 0, 0.75F, 0})}; }, "1 75% 16 8 8 4"},
    {"obb, a quarter turn", "obb", kWide, [] { return std::vector{obb({20, 10, 8, 4, 0, 0.75F, 2 * kQuarter})}; }, "1 75% 18 6 4 8"},
    // half of the diagonal of 8x8 is 5.66
    {"obb, an eighth of a turn", "obb", kWide, [] { return std::vector{obb({20, 10, 8, 8, 0, 0.75F, kQuarter})}; }, "1 75% 14 4 11 11"},
    // 20x2 across each other: the same upright box, and 2 * 2 pixels of 76 in common
    {"obb, two boxes across each other", "obb", kWide, [] { return std::vector{obb({20, 16, 20, 2, 0.9F, 0, kQuarter}, {20, 16, 20, 2, 0.8F, 0, -kQuarter})}; }, "0 90% 12 8 16 16; 0 80% 12 8 16 16"},
    // 20x2 side by side, 1 pixel apart in a row: 19 * 2 of 42
    {"obb, one object twice", "obb", kWide, [] { return std::vector{obb({20, 16, 20, 2, 0.9F, 0, 2 * kQuarter}, {20, 17, 20, 2, 0.8F, 0, 2 * kQuarter})}; }, "0 90% 19 6 2 20"},
    {"obb, NaN in the angle", "obb", kWide, [] { return std::vector{obb({20, 10, 8, 4, 0, 0.75F, kNan})}; }, ""},
    // the published dimensions of the models that were trained with DOTA: 15 classes in 1024x1024
    {"obb, DOTA", "obb", options_of(1024, 1024), [] { Numbers row(20, 0.0F); row[0] = row[1] = 512; row[2] = 100; row[3] = 50; row[18] = 0.75F; return std::vector{columns(21504, 20, 7, row)}; }, "14 75% 462 487 100 50"},

    // cell 10 of stride 8 is x 2, y 1: centre (2 + .5) * 8, (1 + .25) * 8; size 2 * 8, 3 * 8; the root of .9 * .4 is .6
    {"yunet, stride 8", "yunet", kWide, [] { return yunet(8, 10, 0.9F, 0.4F, {0.5F, 0.25F, kLog2, kLog3}, {}); }, "0 60% 12 -2 16 24"},
    {"yunet, stride 32", "yunet", kWide, [] { return yunet(32, 1, 1, 1, {0, 0, 0, 0}, {}); }, "0 100% 16 -16 32 32"},
    {"yunet, tensors in another order", "yunet", kWide, [] { auto t = yunet(8, 10, 0.9F, 0.4F, {0.5F, 0.25F, kLog2, kLog3}, {}); std::reverse(t.begin(), t.end()); return t; }, "0 60% 12 -2 16 24"},
    {"yunet, one of the scores is 0", "yunet", kWide, [] { return yunet(8, 10, 1, 0, {0, 0, 0, 0}, {}); }, ""},
    {"yunet, NaN and infinite", "yunet", kWide, [] { return yunet(8, 10, 1, 1, {kNan, 0, kInf, 0}, {}); }, ""},

    // cell 6 of 4x2 is x 2, y 1: centre (2 + tanh 0) / 4 * 64 = 32, 1 / 2 * 32 = 16; size sigmoid(0) of 64 and 32; .5^.6 * 1
    {"fastestdet", "fastestdet", kWide, [] { return std::vector{fastestdet(6, {0.5F, 0, 0, 0, 0, 0, 1})}; }, "1 66% 16 8 32 16"},
    // tanh(20) is 1: the corner of the next cell
    {"fastestdet, beside the cell", "fastestdet", kWide, [] { return std::vector{fastestdet(6, {1, 20, -20, 0, 0, 1, 0})}; }, "0 100% 32 -8 32 16"},
    {"fastestdet, classes that are unsure", "fastestdet", kWide, [] { return std::vector{fastestdet(6, {1, 0, 0, 0, 0, 0.1F, 0})}; }, ""},
    {"fastestdet, NaN in the box", "fastestdet", kWide, [] { return std::vector{fastestdet(6, {1, kNan, 0, 0, 0, 1, 0})}; }, ""},

    {"classify, probabilities", "classify", from(kWide, 0.2F), [] { return std::vector{scores({1, 4}, {0.1F, 0.25F, 0.6F, 0.05F})}; }, "2 60% 0 0 64 32; 1 25% 0 0 64 32"},
    {"classify, four dimensions", "classify", kWide, [] { return std::vector{scores({1, 4, 1, 1}, {0.1F, 0.25F, 0.6F, 0.05F})}; }, "2 60% 0 0 64 32"},
    // softmax of log 1, log 1 and log 8
    {"classify, logits", "classify", kWide, [] { return std::vector{scores({1, 3}, {0, 3 * kLog2, 0})}; }, "1 80% 0 0 64 32"},
    {"classify, logits that look like probabilities", "classify,scores=logits", from(kWide, 0.3F), [] { return std::vector{scores({1, 3}, {0, kLog2, 0})}; }, "1 50% 0 0 64 32"},
    {"classify, huge logits", "classify", kWide, [] { return std::vector{scores({1, 3}, {1e30F, -1e30F, 0})}; }, "0 100% 0 0 64 32"},
    {"classify, NaN and infinite", "classify", kWide, [] { return std::vector{scores({1, 3}, {kNan, 0.75F, kInf})}; }, "1 75% 0 0 64 32"},

    {"embedding", "embedding", kWide, [] { return std::vector{scores({1, 2}, {3, 4})}; }, "0 100% 0 0 64 32"},
    {"embedding, nothing but zeros", "embedding", kWide, [] { return std::vector{scores({1, 2}, {0, 0})}; }, ""},
    {"embedding, infinite", "embedding", kWide, [] { return std::vector{scores({1, 2}, {1, kInf})}; }, ""},

    {"yolov8, normalised", "yolov8,box-unit=normalised", kWide, [] { return std::vector{columns(20, 6, 3, {0.5F, 0.5F, 0.25F, 0.5F, 0, 0.75F})}; }, "1 75% 24 8 16 16"},
    {"yolov8, corners", "yolov8,boxes=xyxy", kWide, [] { return std::vector{columns(20, 6, 3, {2, 3, 10, 8, 0, 0.75F})}; }, "1 75% 2 3 8 5"},
    // sigmoid(log 3) is 0.75; the others are sigmoid(-9), about 0
    {"yolov8, logits", "yolov8,scores=logits", kWide, [] { auto t = columns(20, 5, 3, {20, 10, 8, 4}); std::fill(t.values.begin() + 80, t.values.end(), -9.0F); t.values[83] = kLog3; return std::vector{t}; }, "0 75% 16 8 8 4"},
    {"ssd, corners from x on, in pixels", "ssd,boxes=xyxy,box-unit=pixels", kUnknown, [] { return std::vector<Owned>{{"boxes", {1, 1, 4}, {2, 3, 10, 8}}, {"classes", {1, 1}, {5}}, {"scores", {1, 1}, {0.75F}}}; }, "5 75% 2 3 8 5"},
    {"blazeface, probabilities", "blazeface", options_of(16, 16), [] { Owned rows = table(14, 16, 0, {0, 0, 6, 4}), p{"p", {1, 14}, Numbers(14, 0.0F)}; p.values[0] = 0.75F; return std::vector{rows, p}; }, "0 75% 1 2 6 4"},
    {"none", "none", kWide, [] { return std::vector{yolov5({20, 10, 8, 4, 1, 1, 1})}; }, ""},
};

class Family : public testing::TestWithParam<Row> {};

TEST_P(Family, Finds)
{
  const Row &row = GetParam();
  const auto owned = row.tensors();
  const auto found = decode(row.said, views(owned), row.options);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(text_of(*found), row.expected);
}

INSTANTIATE_TEST_SUITE_P(Decode, Family, testing::ValuesIn(kFound));

struct RefusedRow {
  const char *name;
  const char *said;
  DecodeOptions options;
  Tensor tensors;
  const char *says;
};

std::ostream &operator<<(std::ostream &out, const RefusedRow &row)
{
  return out << row.name;
}

std::vector<Owned> many(Owned tensor) { return {std::move(tensor)}; }

const RefusedRow kRefused[] = {
    {"yolox, cells of another input", "yolox", kSquare, [] { return many(yolox(0, {})); }, "64x64 has 84 cells"},
    {"yolox, no class", "yolox", kWide, [] { return many(table(kXCells, 5, 0, {})); }, "cells x (5 + classes)"},
    {"yolox, no input size", "yolox", kUnknown, [] { return many(yolox(0, {})); }, "0x0 has 0 cells"},
    {"yolox, two tensors", "yolox", kWide, [] { return std::vector{yolox(0, {}), yolox(0, {})}; }, "one tensor"},
    {"yolox, logits", "yolox", kWide, [] { return many(yolox(9, {0, 0, 0, 0, -9, -9, 3})); }, "its scores go from -9 to 3"},
    {"yolox, fewer values than the dimensions say", "yolox", kWide, [] { auto t = yolox(0, {}); t.values.pop_back(); return many(t); }, "one tensor of cells"},
    {"yolov5, but it is yolov8", "yolov5", kWide, [] { return many(columns(8400, 84, 0, {})); }, "more boxes than columns"},
    {"yolov5, no class", "yolov5", kWide, [] { return many(table(20, 5, 0, {})); }, "boxes x (5 + classes)"},
    {"yolov5, but it is a network without its last layer", "yolov5", kWide, [] { return many(yolov5({20, 10, 8, 4, 3, -2, 1})); }, "its scores go from -2 to 3"},
    {"yolov5, normalised without a word", "yolov5", kWide, [] { return many(table(100, 7, 3, {0.5F, 0.5F, 0.25F, 0.5F, 1, 1, 0})); }, "box-unit=normalised"},
    {"yolov5, normalised in an input of unknown size", "yolov5,box-unit=normalised", kUnknown, [] { return many(yolov5({})); }, "size of the model's input is not known"},
    {"yolov8, but the last row is an angle", "yolov8", kWide, [] { return many(columns(20, 7, 3, {20, 10, 8, 4, 0, 0.8F, -0.7F})); }, "its scores go from -0.7"},
    {"yolov8, but they are key points", "yolov8", kWide, [] { return many(columns(20, 14, 6, {20, 10, 8, 4, 0.9F, 30, 20, 1})); }, "to 30"},
    {"yolov8, normalised without a word", "yolov8", kWide, [] { return many(columns(100, 6, 3, {0.5F, 0.5F, 0.25F, 0.5F, 0, 0.75F})); }, "box-unit=normalised"},
    {"yolov8, strides whose boxes are bins", "yolov8,boxes=xyxy", kSquare, [] { return std::vector<Owned>{{"b", {1, 4, 4, 64}, Numbers(1024, 0.0F)}, {"c", {1, 4, 4, 1}, Numbers(16, 0.0F)}}; }, "keys for one tensor"},
    {"yolov10, but it is another table", "yolov10", kWide, [] { return many(yolov5({})); }, "boxes x 6"},
    {"yolov10, scores that are none", "yolov10", kWide, [] { return many(yolov10({2, 3, 10, 8, 7, 0})); }, "to 7"},
    {"yolov10, normalised without a word", "yolov10", kWide, [] { return many(table(300, 6, 0, {0.25F, 0.25F, 0.5F, 0.5F, 0.75F, 0})); }, "box-unit=normalised"},
    {"pose, but it is yolov8", "pose", kWide, [] { return many(columns(8400, 84, 0, {})); }, "(5 + 3 x key points) x boxes"},
    {"pose, boxes first", "pose", kWide, [] { return many(table(20, 14, 0, {})); }, "(5 + 3 x key points) x boxes"},
    {"ultraface, but the boxes are offsets", "ultraface", kSquare, [] { auto t = ultraface(7, 0.9F, {}); for (std::size_t i = 0; i < kPriors; i++) t[1].values[4 * i] = 0.5F; return t; }, "boxes=offsets"},
    {"ultraface, offsets of another input", "ultraface,boxes=offsets", kWide, [] { return ultraface(7, 0.9F, {}); }, "64x32 has"},
    {"ultraface, offsets without an input size", "ultraface,boxes=offsets", kUnknown, [] { return ultraface(7, 0.9F, {}); }, "not known"},
    {"ultraface, three scores", "ultraface", kSquare, [] { auto t = ultraface(7, 0.9F, {}); t[0] = table(kPriors, 3, 0, {}); return t; }, "scores of boxes x 2"},
    {"ultraface, fewer boxes", "ultraface", kSquare, [] { auto t = ultraface(7, 0.9F, {}); t[1] = table(7, 4, 0, {}); return t; }, "scores of boxes x 2"},
    {"ultraface, two of scores", "ultraface", kSquare, [] { auto t = ultraface(7, 0.9F, {}); t[1] = t[0]; return t; }, "scores of boxes x 2"},
    {"ultraface, logits", "ultraface", kSquare, [] { return ultraface(7, 9, {}); }, "its scores go from -8 to 9"},
    {"retinaface, but of MXNet", "retinaface", options_of(640, 640), [] { return std::vector<Owned>{{"cls", {1, 4, 20, 20}, Numbers(1600, 0.0F)}, {"bbox", {1, 8, 20, 20}, Numbers(3200, 0.0F)}, {"landmark", {1, 20, 20, 20}, Numbers(8000, 0.0F)}}; }, "N = 16800 priors of an input of 640x640"},
    {"retinaface, another input", "retinaface", kWide, [] { return retinaface(0, 0, {}); }, "N = 84"},
    {"retinaface, scores twice", "retinaface", kSquare, [] { auto t = retinaface(0, 0, {}); t[0] = t[1]; return t; }, "boxes N x 4"},
    {"retinaface, before softmax", "retinaface", kSquare, [] { return retinaface(5, 9, {}); }, "its scores go from -8 to 9"},
    {"scrfd, another input", "scrfd", kSquare, [] { return scrfd(kWide, 3, 8, 0, 0, {}); }, "an input of 64x64"},
    {"scrfd, key points of one stride alone", "scrfd", kWide, [] { auto t = scrfd(kWide, 3, 8, 0, 0, {}); t.resize(7); return t; }, "rows x 1"},
    {"scrfd, boxes twice", "scrfd", kWide, [] { auto t = scrfd(kWide, 3, 8, 0, 0, {}); t[0] = t[3]; return t; }, "rows x 1"},
    {"scrfd, logits", "scrfd", kWide, [] { return scrfd(kWide, 3, 8, 3, -4, {}); }, "its scores go from -4"},
    {"segment, one tensor", "segment", kWide, [] { auto t = segment({}, Numbers(8, 0.0F), Numbers(8, 0.0F)); t.pop_back(); return t; }, "it needs prototypes"},
    {"segment, no class", "segment", kWide, [] { auto t = segment({}, Numbers(8, 0.0F), Numbers(8, 0.0F)); t[0] = columns(20, 6, 0, {}); return t; }, "it needs prototypes"},
    {"segment, no input size", "segment", kUnknown, [] { return segment({}, Numbers(8, 0.0F), Numbers(8, 0.0F)); }, "not known"},
    {"segment, coefficients taken for classes", "segment", kWide, [] { auto t = segment({32, 16, 32, 16, 3, 1, -1}, Numbers(8, 0.0F), Numbers(8, 0.0F)); return t; }, "its scores go from 0 to 3"},
    {"obb, no class", "obb", kWide, [] { return many(columns(20, 5, 0, {})); }, "(5 + classes) x boxes"},
    {"obb, but it is yolov8-pose", "obb", kWide, [] { return many(pose({20, 10, 8, 4, 0.9F, 30, 20, 1})); }, "to 30"},
    {"embedding, boxes", "embedding", kWide, [] { return many(yolov5({})); }, "a list of numbers"},
    {"embedding, no input size", "embedding", kUnknown, [] { return many(scores({1, 4}, {1, 0, 0, 0})); }, "not known"},
    {"yunet, eleven tensors", "yunet", kWide, [] { auto t = yunet(8, 0, 0, 0, {}, {}); t.pop_back(); return t; }, "two tensors of cells x 1"},
    {"yunet, another input", "yunet", kSquare, [] { return yunet(8, 0, 0, 0, {}, {}); }, "an input of 64x64"},
    {"yunet, boxes twice", "yunet", kWide, [] { auto t = yunet(8, 0, 0, 0, {}, {}); t[0] = t[6]; return t; }, "two tensors of cells x 1"},
    {"yunet, logits", "yunet", kWide, [] { return yunet(8, 3, -4, 0, {}, {}); }, "its scores go from -4"},
    {"fastestdet, another input", "fastestdet", kSquare, [] { return many(fastestdet(0, {})); }, "(5 + classes) x 4 x 4"},
    {"fastestdet, but it is yolox", "fastestdet", kWide, [] { return many(yolox(0, {})); }, "(5 + classes) x 2 x 4"},
    {"fastestdet, no class", "fastestdet", kWide, [] { return many({"o", {1, 5, 2, 4}, Numbers(40, 0.0F)}); }, "(5 + classes) x 2 x 4"},
    {"fastestdet, classes before softmax", "fastestdet", kWide, [] { return many(fastestdet(6, {1, 0, 0, 0, 0, 5, -5})); }, "its scores go from -5 to 5"},
    {"classify, boxes", "classify", kWide, [] { return many(yolov5({})); }, "a number per class"},
    {"classify, no input size", "classify", kUnknown, [] { return many(scores({1, 4}, {1, 0, 0, 0})); }, "not known"},
};

class FamilyRefuses : public testing::TestWithParam<RefusedRow> {};

TEST_P(FamilyRefuses, WithOneSentence)
{
  const RefusedRow &row = GetParam();
  const auto owned = row.tensors();
  const auto found = decode(row.said, views(owned), row.options);
  ASSERT_FALSE(found) << text_of(*found);
  EXPECT_EQ(found.error().code, ErrorCode::Layout);
  EXPECT_NE(found.error().message.find(row.says), std::string::npos) << found.error().message;
}

INSTANTIATE_TEST_SUITE_P(Decode, FamilyRefuses, testing::ValuesIn(kRefused));

// Without a word: the one decoder that reads the tensors, or an error with the candidates.
struct GuessRow {
  const char *name;
  DecodeOptions options;
  Tensor tensors;
  const char *word;       // nullptr: refused
  const char *candidates; // in the error
};

std::ostream &operator<<(std::ostream &out, const GuessRow &row)
{
  return out << row.name;
}

const DecodeOptions kLarge = options_of(416, 416);

const GuessRow kGuesses[] = {
    {"yolov8 with 80 classes", kLarge, [] { return many(columns(3549, 84, 0, {})); }, "yolov8", ""},
    {"85 columns of cells", kLarge, [] { return many(table(3549, 85, 0, {})); }, nullptr, "decoders yolov8, yolox, yolov5 all read"},
    {"85 columns of anchors", kLarge, [] { return many(table(10647, 85, 0, {})); }, nullptr, "decoders yolov8, yolov5 all read"},
    {"6 columns", kLarge, [] { return many(table(300, 6, 0, {})); }, nullptr, "decoders yolov8, yolov5, yolov10 all read"},
    {"56 rows", kLarge, [] { return many(columns(3549, 56, 0, {})); }, nullptr, "decoders yolov8, pose all read"},
    {"ultraface", kSquare, [] { return ultraface(0, 0, {}); }, "ultraface", ""},
    {"yunet", kWide, [] { return yunet(8, 0, 0, 0, {}, {}); }, "yunet", ""},
    {"yunet of another input", kSquare, [] { return yunet(8, 0, 0, 0, {}, {}); }, nullptr, "no decoder that is recognised"},
    // 105x105, 53x53 and 27x27 cells, as a public log prints them
    {"RetinaFace of 840x840", options_of(840, 840), [] { return std::vector{table(29126, 4, 0, {}), table(29126, 2, 0, {}), table(29126, 10, 0, {})}; }, "retinaface", ""},
    // deepinsight/insightface, issue 2542: boxes of 0 to 7 in an input of 640x640 are distances in strides
    {"SCRFD of 640x640", options_of(640, 640), [] { return scrfd(options_of(640, 640), 3, 8, 0, 0, {}); }, "scrfd", ""},
    // ultralytics/ultralytics, issue 4490
    {"FastSAM of 1024x1024", options_of(1024, 1024), [] { return std::vector<Owned>{columns(21504, 37, 0, {}), {"output1", {1, 32, 256, 256}, Numbers(32 * 256 * 256, 0.0F)}}; }, "segment", ""},
    {"RetinaFace of another input", kSquare, [] { return std::vector{table(100, 4, 0, {}), table(100, 2, 0, {}), table(100, 10, 0, {})}; }, nullptr, "no decoder that is recognised"},
    {"a list of numbers", kWide, [] { return many(scores({1, 1000}, Numbers(1000, 0.0F))); }, nullptr, "ultraface, retinaface, scrfd, yunet, fastestdet, classify, embedding, none"},
    {"a map", kWide, [] { return many(fastestdet(0, {})); }, nullptr, "no decoder that is recognised"},
    {"no tensor", kWide, [] { return std::vector<Owned>(); }, nullptr, "gave no tensor"},
};

class Guess : public testing::TestWithParam<GuessRow> {};

TEST_P(Guess, OneOrNone)
{
  const GuessRow &row = GetParam();
  const auto owned = row.tensors();
  const auto decoder = recognise(views(owned), row.options);
  ASSERT_EQ(static_cast<bool>(decoder), row.word != nullptr) << (decoder ? (*decoder)->word : decoder.error().message);
  if (decoder) {
    EXPECT_STREQ((*decoder)->word, row.word);
    return;
  }
  EXPECT_NE(decoder.error().message.find(row.candidates), std::string::npos) << decoder.error().message;
  EXPECT_NE(decoder.error().message.find("decoder= in the model's description"), std::string::npos) << decoder.error().message;
}

INSTANTIATE_TEST_SUITE_P(Decode, Guess, testing::ValuesIn(kGuesses));

// Every family on the tensors of every other one: refused, or what was asked for; never outside of memory (ASan).
TEST(Families, ReadEachOther)
{
  for (const Decoder *decoder : decoders())
    for (const Row &row : kFound) {
      auto owned = row.tensors();
      for (Owned &tensor : owned)
        std::fill(tensor.values.begin(), tensor.values.end(), 1.0F);
      DecodeOptions options = from(row.options, 0);
      options.max_detections = 10;
      const auto found = decode(decoder->word, views(owned), options);
      if (found) {
        EXPECT_LE(found->size(), 10U) << decoder->word << ", " << row.name;
        continue;
      }
      EXPECT_NE(found.error().message.find(std::string("the decoder ") + decoder->word), std::string::npos) << found.error().message;
    }
}

// Ten thousand boxes, all of them objects: the work is bounded.
TEST(Families, ManyBoxes)
{
  for (const char *word : {"yolov5", "yolov10"}) {
    Owned tensor = table(10000, 6, 0, {});
    for (std::size_t i = 0; i < 10000; i++) {
      const float x = static_cast<float>(i) * 20;
      const Numbers row{x, 0, std::string(word) == "yolov10" ? x + 10 : 10, 10, 1, 1};
      std::copy(row.begin(), row.end(), tensor.values.begin() + static_cast<std::ptrdiff_t>(i * 6));
    }
    const auto found = decode(word, views({tensor}), kWide);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->size(), kWide.max_detections);
  }
}

TEST(Families, KeyPoints)
{
  const std::vector<Owned> persons{pose({20, 10, 8, 4, 0.9F, 1, 2, 1, 3, 4, 0, 5, 6, 1})};
  const auto person = decode("pose", views(persons), kWide);
  ASSERT_TRUE(person && person->size() == 1);
  ASSERT_EQ(person->front().key_points.size(), 3U);
  EXPECT_EQ(person->front().key_points[2].x, 5);
  EXPECT_EQ(person->front().key_points[2].y, 6);
  const auto faces = yunet(16, 5, 1, 1, {0, 0, 0, 0}, {0, 0.5F, 1, 1, -1, 0, 0, 0, 2, 3}); // x 1, y 1
  const auto face = decode("yunet", views(faces), kWide);
  ASSERT_TRUE(face && face->size() == 1);
  ASSERT_EQ(face->front().key_points.size(), 5U);
  EXPECT_EQ(face->front().key_points[0].y, 24);
  EXPECT_EQ(face->front().key_points[4].x, 48);
  EXPECT_EQ(face->front().key_points[4].y, 64);
}

TEST(Families, KeyPointsOfPriorsAndAnchors)
{
  const auto faces = retinaface(5, 1, {0, 0, 0, 0}, {0, 0, 1, 0, 0, 0, 0, 0, 0, -1}); // size 32 about 20, 4
  const auto face = decode("retinaface", views(faces), kSquare);
  ASSERT_TRUE(face && face->size() == 1 && face->front().key_points.size() == 5U);
  EXPECT_FLOAT_EQ(face->front().key_points[1].x, 23.2F);
  EXPECT_FLOAT_EQ(face->front().key_points[4].y, 0.8F);
  const auto others = scrfd(kWide, 3, 8, 21, 1, {1, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 0, -0.5F, 2}); // at 16, 8
  const auto other = decode("scrfd", views(others), kWide);
  ASSERT_TRUE(other && other->size() == 1 && other->front().key_points.size() == 5U);
  EXPECT_EQ(other->front().key_points[4].x, 12);
  EXPECT_EQ(other->front().key_points[4].y, 24);
  const std::vector<Owned> turned{obb({20, 10, 8, 4, 0, 1, 2 * kQuarter})};
  const auto box = decode("obb", views(turned), kWide);
  ASSERT_TRUE(box && box->size() == 1 && box->front().key_points.size() == 4U);
  EXPECT_FLOAT_EQ(box->front().key_points[0].x, 22); // the corner that was left above
  EXPECT_FLOAT_EQ(box->front().key_points[0].y, 6);
}

// The box covers cells 1 and 2 of both rows.
TEST(Families, Mask)
{
  const auto owned = segment({32, 16, 32, 16, 0.75F, 1, -1}, {0, 10, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 10, 0});
  const auto found = decode("segment", views(owned), kWide);
  ASSERT_TRUE(found && found->size() == 1);
  const Mask &mask = found->front().mask;
  EXPECT_EQ(mask.x, 16);
  EXPECT_EQ(mask.y, 0);
  EXPECT_EQ(mask.width, 32);
  EXPECT_EQ(mask.height, 32);
  EXPECT_EQ(mask.columns, 2U);
  EXPECT_EQ(mask.values, (std::vector<std::uint8_t>{255, 128, 128, 0}));
}

TEST(Families, Embedding)
{
  const auto found = decode("embedding", views({scores({1, 2}, {3, -4})}), kWide);
  ASSERT_TRUE(found && found->size() == 1);
  EXPECT_EQ(found->front().embedding, (std::vector<float>{0.6F, -0.8F}));
}

// Whether values are logits is decided once for a model, and rounding of an int8 tensor does not decide it.
std::vector<Owned> int8_strides(float step, float least, float object)
{
  Owned boxes{"box", {1, 4, 4, 64}, Numbers(1024, 0.0F), step};
  Owned classes{"cls", {1, 4, 4, 1}, Numbers(16, least), step};
  classes.values[5] = object;
  return {boxes, classes};
}

TEST(Scores, AStepOutsideIsNoLogit)
{
  const float step = 1.0F / 128;
  const auto owned = int8_strides(step, -step, 0.875F);
  const auto found = decode("yolov8", views(owned), options_of(32, 32));
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(std::lround(found->front().score * 1000), 875);
}

TEST(Scores, AreDecidedOnceForAModel)
{
  const DecodeOptions options = options_of(32, 32);
  const auto first = int8_strides(0.1F, -9, 2);
  const auto second = int8_strides(0.1F, 0, 0.2F); // as no frame of logits is, but within 0 to 1
  auto logits = ModelDecoder::create({decoder_named("yolov8"), {}}, views(first), options);
  ASSERT_TRUE(logits && logits->decode(views(first), options));
  const auto found = logits->decode(views(second), options);
  ASSERT_TRUE(found && !found->empty());
  EXPECT_EQ(std::lround(found->front().score * 100), 55); // sigmoid(0.2)
  EXPECT_EQ(logits->describe_choice(), "yolov8, as the model's description or the property says; the scores are logits");
  auto guessed = ModelDecoder::create({}, views(second), options);
  ASSERT_TRUE(guessed && !guessed->settled() && guessed->decode(views(second), options) && guessed->settled());
  EXPECT_EQ(guessed->describe_choice(), "yolov8, only this decoder reads tensors box 1x4x4x64, cls 1x4x4x1; the scores are probabilities");
  auto probabilities = ModelDecoder::create({decoder_named("yolov8"), {}}, views(second), options);
  ASSERT_TRUE(probabilities && probabilities->decode(views(second), options));
  const auto none = probabilities->decode(views(first), options);
  ASSERT_TRUE(none && none->size() == 1);
  EXPECT_EQ(none->front().score, 1.0F);
}

struct SettingRow {
  const char *text;
  const char *says; // nullptr: read
};

std::ostream &operator<<(std::ostream &out, const SettingRow &row)
{
  return out << row.text;
}

const SettingRow kSettings[] = {
    {"", nullptr}, {" ", nullptr}, {"yolox", nullptr}, {" yolov5 , boxes = xyxy , box-unit=normalised ", nullptr}, {"yolov8,scores=logits", nullptr},
    {"ultraface,boxes=offsets", nullptr}, {"none", nullptr},
    {"yolo", "no decoder \"yolo\"; it may be one of blazeface, ssd, yolov8, pose, segment, obb, yolox, yolov5, yolov10, ultraface, retinaface, scrfd, yunet, fastestdet, classify, embedding, none."},
    {"YOLOX", "no decoder \"YOLOX\""}, {",", "no decoder \"\""}, {"yolox,", "\"\" is no KEY=VALUE"}, {"yolov5,xyxy", "\"xyxy\" is no KEY=VALUE"},
    {"yolox,boxes=xyxy", "The decoder yolox has no key \"boxes\"."}, {"yolov5,boxes=offsets", "\"offsets\" is no value of the key boxes for the decoder yolov5; it may be one of xyxy, cxcywh."},
    {"yolov5,boxes=", "\"\" is no value"}, {"yolov8,scores=softmax", "probabilities or logits"}, {"ssd,box-unit=cm", "pixels or normalised"}, {"none,boxes=xyxy", "has no key"},
    {"obb,box-unit=normalised", nullptr}, {"segment,boxes=xyxy", "has no key"}, {"scrfd,scores=logits", "has no key"}, {"detr", "no decoder \"detr\""},
};

class Setting : public testing::TestWithParam<SettingRow> {};

TEST_P(Setting, IsReadOrRefused)
{
  const auto setting = read_output_setting(GetParam().text);
  ASSERT_EQ(static_cast<bool>(setting), GetParam().says == nullptr) << (setting ? "" : setting.error().message);
  if (!GetParam().says)
    return;
  EXPECT_NE(setting.error().message.find(GetParam().says), std::string::npos) << setting.error().message;
}

INSTANTIATE_TEST_SUITE_P(Decode, Setting, testing::ValuesIn(kSettings));

} // namespace
