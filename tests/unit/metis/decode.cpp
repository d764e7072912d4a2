// SPDX-License-Identifier: LGPL-2.1-or-later
// Decoders on tensors that are small enough to be read: what is found where, what is no detection, what is refused.
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
constexpr float kHuge = std::numeric_limits<float>::max();

float logit(float score)
{
  return std::log(score / (1 - score));
}

// BlazeFace of a 16x16 input: 4 cells of 8 pixels with 2 anchors, 1 cell of 16 pixels with 6.
constexpr std::size_t kAnchors = 14;

std::vector<Owned> no_faces()
{
  return {{"regressors", {1, kAnchors, 16}, std::vector<float>(kAnchors * 16, 0.0F)},
          {"classificators", {1, kAnchors, 1}, std::vector<float>(kAnchors, -20.0F)}};
}

void put_face(std::vector<Owned> &tensors, std::size_t anchor, float score, std::vector<float> numbers)
{
  tensors[1].values[anchor] = logit(score);
  std::copy(numbers.begin(), numbers.end(), tensors[0].values.begin() + static_cast<std::ptrdiff_t>(anchor * 16));
}

// Boxes, classes, scores, count: the order without names.
std::vector<Owned> two_objects()
{
  return {{"", {1, 3, 4}, {0.1F, 0.2F, 0.5F, 0.6F, 0, 0, 1, 1, 0.9F, 0.9F, 1, 1}},
          {"", {1, 3}, {7, 0, 3}},
          {"", {1, 3}, {0.9F, 0.6F, 0.8F}},
          {"", {1}, {2}}};
}

// One tensor of 4 + 2 classes by 7 boxes: one object, at box 1.
std::vector<Owned> one_yolo(bool channels_first)
{
  Owned tensor{"output0", channels_first ? std::vector<std::size_t>{1, 6, 7} : std::vector<std::size_t>{1, 7, 6}, std::vector<float>(42, 0.0F)};
  const float numbers[] = {50, 40, 20, 10, 0.1F, 0.75F};
  for (std::size_t c = 0; c < 6; c++)
    tensor.values[channels_first ? c * 7 + 1 : 6 + c] = numbers[c];
  return {tensor};
}

// Two strides of a 32x32 input with 3 classes. The cell (x 1, y 0) of the 4x4 grid has an object of class 2 that reaches
// 1 cell to the left, 2 up, 3 to the right and 4 down.
std::vector<Owned> strides(bool channels_last, bool logits)
{
  std::vector<Owned> tensors;
  for (const std::size_t cells : {std::size_t{4}, std::size_t{2}}) {
    const auto dims = [&](std::size_t channels) {
      return channels_last ? std::vector<std::size_t>{1, cells, cells, channels} : std::vector<std::size_t>{1, channels, cells, cells};
    };
    tensors.push_back({"box" + std::to_string(cells), dims(64), std::vector<float>(cells * cells * 64, 0.0F)});
    tensors.push_back({"cls" + std::to_string(cells), dims(3), std::vector<float>(cells * cells * 3, logits ? -9.0F : 0.0F)});
  }
  const auto at = [&](std::size_t channels, std::size_t channel) { return channels_last ? channels + channel : channel * 16 + 1; };
  for (std::size_t side = 0; side < 4; side++)
    tensors[0].values[at(64, side * 16 + side + 1)] = 50; // one bin outweighs all others
  tensors[1].values[at(3, 2)] = logits ? logit(0.8F) : 0.8F;
  return tensors;
}

struct Row {
  const char *name;
  const char *kind;
  DecodeOptions options;
  std::function<std::vector<Owned>()> tensors;
  const char *expected;
};

std::ostream &operator<<(std::ostream &out, const Row &row)
{
  return out << row.name;
}

const DecodeOptions kSmall = options_of(16, 16), kWide = options_of(200, 100), kSquare = options_of(32, 32);

std::vector<Owned> face_with(std::size_t number, float value)
{
  auto t = no_faces();
  put_face(t, 0, 0.9F, {0, 0, 6, 6});
  t[0].values[number] = value;
  return t;
}

std::vector<Owned> ssd_with(std::size_t tensor, std::size_t number, float value)
{
  auto t = two_objects();
  t[tensor].values[number] = value;
  return t;
}

DecodeOptions with_threshold(DecodeOptions options, float threshold)
{
  options.threshold = threshold;
  return options;
}

DecodeOptions with_most(DecodeOptions options, std::size_t most)
{
  options.max_detections = most;
  return options;
}

const Row kFound[] = {
    {"BlazeFace, no face", "blazeface", kSmall, no_faces, ""},
    {"BlazeFace, at the centre of the first cell", "blazeface", kSmall, [] { auto t = no_faces(); put_face(t, 0, 0.9F, {0, 0, 6, 4}); return t; }, "0 90% 1 2 6 4"},
    {"BlazeFace, anchors of the last cell of 8 pixels, moved", "blazeface", kSmall, [] { auto t = no_faces(); put_face(t, 7, 0.9F, {1, -2, 4, 4}); return t; }, "0 90% 11 8 4 4"},
    {"BlazeFace, the cell of 16 pixels", "blazeface", kSmall, [] { auto t = no_faces(); put_face(t, 8, 0.9F, {0, 0, 16, 16}); return t; }, "0 90% 0 0 16 16"},
    {"BlazeFace, two anchors find one face", "blazeface", kSmall, [] { auto t = no_faces(); put_face(t, 0, 0.8F, {0, 0, 6, 6}); put_face(t, 1, 0.9F, {0, 0, 6, 6}); return t; }, "0 90% 1 1 6 6"},
    {"BlazeFace, two faces, the better first", "blazeface", kSmall, [] { auto t = no_faces(); put_face(t, 0, 0.8F, {0, 0, 6, 6}); put_face(t, 7, 0.9F, {0, 0, 6, 6}); return t; }, "0 90% 9 9 6 6; 0 80% 1 1 6 6"},
    {"BlazeFace, below the threshold", "blazeface", with_threshold(kSmall, 0.95F), [] { auto t = no_faces(); put_face(t, 0, 0.9F, {0, 0, 6, 6}); return t; }, ""},
    {"BlazeFace, the other order", "blazeface", kSmall, [] { auto t = no_faces(); put_face(t, 0, 0.9F, {0, 0, 6, 6}); std::swap(t[0], t[1]); return t; }, "0 90% 1 1 6 6"},
    {"BlazeFace, at most one", "blazeface", with_most(kSmall, 1), [] { auto t = no_faces(); put_face(t, 0, 0.8F, {0, 0, 6, 6}); put_face(t, 7, 0.9F, {0, 0, 6, 6}); return t; }, "0 90% 9 9 6 6"},
    {"BlazeFace, NaN in a box", "blazeface", kSmall, [] { return face_with(0, kNan); }, ""},
    {"BlazeFace, an infinite size", "blazeface", kSmall, [] { return face_with(2, kInf); }, ""},
    {"BlazeFace, a size below 0", "blazeface", kSmall, [] { return face_with(3, -1); }, ""},
    {"BlazeFace, a huge size", "blazeface", kSmall, [] { auto t = face_with(2, 1e6F); return t; }, "0 90% -499996 1 1000000 6"},
    {"BlazeFace, a NaN logit", "blazeface", kSmall, [] { auto t = no_faces(); t[1].values[3] = kNan; return t; }, ""},
    {"BlazeFace, logits without end", "blazeface", kSmall, [] { auto t = no_faces(); put_face(t, 0, 0.9F, {0, 0, 6, 6}); t[1].values[0] = kInf; t[1].values[1] = -kInf; return t; }, "0 100% 1 1 6 6"},

    {"SSD, as many as counted, the better first", "ssd", kWide, two_objects, "7 90% 40 10 80 40; 0 60% 0 0 200 100"},
    {"SSD, all without a count", "ssd", kWide, [] { auto t = two_objects(); t.pop_back(); return t; }, "7 90% 40 10 80 40; 3 80% 180 90 20 10; 0 60% 0 0 200 100"},
    {"SSD, names say which is which", "ssd", kWide, [] {
       auto t = two_objects();
       t[0].name = "detection_boxes", t[1].name = "Detection_Classes", t[2].name = "detection_scores", t[3].name = "num_detections";
       std::swap(t[1], t[3]);
       std::swap(t[0], t[2]);
       return t;
     }, "7 90% 40 10 80 40; 0 60% 0 0 200 100"},
    {"SSD, counts more than there are", "ssd", kWide, [] { return ssd_with(3, 0, 4); }, "7 90% 40 10 80 40; 3 80% 180 90 20 10; 0 60% 0 0 200 100"},
    {"SSD, the count is NaN", "ssd", kWide, [] { return ssd_with(3, 0, kNan); }, ""},
    {"SSD, the count is below 0", "ssd", kWide, [] { return ssd_with(3, 0, -1); }, ""},
    {"SSD, the count is huge", "ssd", kWide, [] { return ssd_with(3, 0, kInf); }, "7 90% 40 10 80 40; 3 80% 180 90 20 10; 0 60% 0 0 200 100"},
    {"SSD, none counted", "ssd", kWide, [] { return ssd_with(3, 0, 0); }, ""},
    {"SSD, the model has removed overlaps", "ssd", kWide, [] { auto t = ssd_with(1, 1, 7); t[0].values = {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0}; return t; }, "7 90% 0 0 200 100; 7 60% 0 0 200 100"},
    {"SSD, the score is NaN", "ssd", kWide, [] { return ssd_with(2, 0, kNan); }, "0 60% 0 0 200 100"},
    {"SSD, the class is NaN", "ssd", kWide, [] { return ssd_with(1, 0, kNan); }, "0 60% 0 0 200 100"},
    {"SSD, the class is below 0", "ssd", kWide, [] { return ssd_with(1, 0, -1); }, "0 60% 0 0 200 100"},
    {"SSD, the class is huge", "ssd", kWide, [] { return ssd_with(1, 0, kHuge); }, "0 60% 0 0 200 100"},
    {"SSD, a corner is infinite", "ssd", kWide, [] { return ssd_with(0, 3, kInf); }, "0 60% 0 0 200 100"},
    {"SSD, a corner is huge", "ssd", kWide, [] { return ssd_with(0, 3, kHuge); }, "0 60% 0 0 200 100"},
    {"SSD, a box without an extent", "ssd", kWide, [] { return ssd_with(0, 3, 0.2F); }, "0 60% 0 0 200 100"},

    {"YOLOv8, one tensor, channels first", "yolov8", kWide, [] { return one_yolo(true); }, "1 75% 40 35 20 10"},
    {"YOLOv8, one tensor, boxes first", "yolov8", kWide, [] { return one_yolo(false); }, "1 75% 40 35 20 10"},
    {"YOLOv8, boxes of other classes stay", "yolov8", kWide, [] {
       auto t = one_yolo(true);
       for (const std::size_t box : {2, 3})
         for (std::size_t c = 0; c < 4; c++)
           t[0].values[c * 7 + box] = t[0].values[c * 7 + 1];
       t[0].values[4 * 7 + 2] = 0.7F; // class 0
       t[0].values[5 * 7 + 3] = 0.7F; // class 1, again
       return t;
     }, "1 75% 40 35 20 10; 0 70% 40 35 20 10"},
    {"YOLOv8, NaN scores", "yolov8", kWide, [] { auto t = one_yolo(true); t[0].values[4 * 7 + 1] = kNan; t[0].values[5 * 7 + 1] = kNan; return t; }, ""},
    {"YOLOv8, an infinite width", "yolov8", kWide, [] { auto t = one_yolo(true); t[0].values[2 * 7 + 1] = kInf; return t; }, ""},
    {"YOLOv8, strides, channels last", "yolov8", kSquare, [] { return strides(true, false); }, "2 80% 4 -12 32 48"},
    {"YOLOv8, strides, channels first", "yolov8", kSquare, [] { return strides(false, false); }, "2 80% 4 -12 32 48"},
    {"YOLOv8, strides, logits", "yolov8", kSquare, [] { return strides(true, true); }, "2 80% 4 -12 32 48"},
    {"YOLOv8, strides in another order", "yolov8", kSquare, [] { auto t = strides(true, true); std::swap(t[0], t[3]); return t; }, "2 80% 4 -12 32 48"},
    {"YOLOv8, a NaN bin", "yolov8", kSquare, [] { auto t = strides(true, false); t[0].values[64] = kNan; return t; }, ""},
    {"YOLOv8, an infinite bin", "yolov8", kSquare, [] { auto t = strides(true, false); t[0].values[64] = kInf; return t; }, ""},
    {"YOLOv8, huge bins", "yolov8", kSquare, [] { auto t = strides(true, false); t[0].values[64 + 1] = kHuge; t[0].values[64] = -kHuge; return t; }, "2 80% 4 -12 32 48"},
};

class Found : public testing::TestWithParam<Row> {};

TEST_P(Found, Objects)
{
  const Row &row = GetParam();
  const auto owned = row.tensors();
  const auto found = decode(row.kind, views(owned), row.options);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(text_of(*found), row.expected);
}

// Tensors that one decoder alone reads are told apart by their dimensions; else all that read them are named.
TEST_P(Found, Recognised)
{
  const Row &row = GetParam();
  const auto owned = row.tensors();
  const auto decoder = recognise(views(owned), row.options);
  if (decoder) {
    EXPECT_STREQ((*decoder)->word, row.kind);
    return;
  }
  EXPECT_NE(decoder.error().message.find(row.kind), std::string::npos) << decoder.error().message;
}

INSTANTIATE_TEST_SUITE_P(Decode, Found, testing::ValuesIn(kFound));

TEST(Decode, KeyPointsOfAFace)
{
  auto owned = no_faces();
  put_face(owned, 7, 0.9F, {0, 0, 6, 6, 1, 2, 3, 4, 5, 6, 7, 8, -1, -2, -3, -4});
  const auto found = decode("blazeface", views(owned), kSmall);
  ASSERT_TRUE(found && found->size() == 1);
  const std::vector<KeyPoint> &points = found->front().key_points;
  ASSERT_EQ(points.size(), 6U);
  EXPECT_EQ(points[0].x, 13); // the anchor is at 12, 12
  EXPECT_EQ(points[0].y, 14);
  EXPECT_EQ(points[5].x, 9);
  EXPECT_EQ(points[5].y, 8);
}

// The anchors of the 128x128 model: 16x16x2 and 8x8x6.
TEST(Decode, AnchorsOfTheShortRangeModel)
{
  std::vector<Owned> owned{{"r", {1, 896, 16}, std::vector<float>(896 * 16, 0.0F)}, {"c", {1, 896, 1}, std::vector<float>(896, -20.0F)}};
  put_face(owned, 512, 0.9F, {0, 0, 10, 10}); // the first of the coarse grid
  put_face(owned, 895, 0.8F, {0, 0, 10, 10}); // its last
  put_face(owned, 511, 0.7F, {0, 0, 10, 10}); // the last of the fine grid
  const auto found = decode("blazeface", views(owned), options_of(128, 128));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(text_of(*found), "0 90% 3 3 10 10; 0 80% 115 115 10 10; 0 70% 119 119 10 10");
}

// Every anchor a face in another place: the work is bounded.
TEST(Decode, ManyCandidates)
{
  const std::size_t boxes = 20000;
  Owned tensor{"output0", {1, 5, boxes}, std::vector<float>(5 * boxes, 0.9F)};
  for (std::size_t i = 0; i < boxes; i++)
    tensor.values[i] = static_cast<float>(i) * 10;
  const auto found = decode("yolov8", views({tensor}), kWide);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->size(), kWide.max_detections);
}

// The 2000 best are compared; here they are one object, and the next one is left out.
TEST(Decode, MostCandidates)
{
  const std::size_t boxes = 2001;
  Owned tensor{"output0", {1, 5, boxes}, std::vector<float>(5 * boxes, 0.9F)};
  std::fill_n(tensor.values.begin(), 4 * boxes, 10.0F);
  tensor.values[boxes - 1] = 100; // of another place
  tensor.values[5 * boxes - 1] = 0.6F;
  const auto found = decode("yolov8", views({tensor}), kWide);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(text_of(*found), "0 90% 5 5 10 10");
}

// A score a little above 1, as quantised models give, is 1.
TEST(Decode, ScoreAboveOne)
{
  const Owned tensor{"output0", {1, 5, 6}, std::vector<float>(30, 1.04F)};
  const auto found = decode("yolov8", views({tensor}), kWide);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().score, 1.0F);
}

// The threshold is the least score of an object: one that has just this score is one.
struct ThresholdRow {
  const char *name;
  const char *kind;
  DecodeOptions options;
  std::function<std::vector<Owned>()> tensors;
};

std::ostream &operator<<(std::ostream &out, const ThresholdRow &row)
{
  return out << row.name;
}

std::vector<Owned> grids_of(float score)
{
  Owned boxes{"b", {1, 1, 1, 64}, std::vector<float>(64, 0)};
  return {boxes, {"c", {1, 1, 1, 1}, {score}}};
}

const ThresholdRow kThresholds[] = {
    {"BlazeFace", "blazeface", kSmall, [] { auto t = no_faces(); put_face(t, 0, 0.5F, {0, 0, 10, 10}); t[1].values[0] = 0; return t; }},
    {"SSD", "ssd", kWide, [] { return std::vector<Owned>{{"boxes", {1, 1, 4}, {0, 0, 1, 1}}, {"classes", {1, 1}, {0}}, {"scores", {1, 1}, {0.5F}}}; }},
    {"YOLOv8, one tensor", "yolov8", kWide, [] { return std::vector<Owned>{{"o", {1, 5, 6}, std::vector<float>(30, 0.5F)}}; }},
    {"YOLOv8, grids", "yolov8", kWide, [] { return grids_of(0.5F); }},
};

class Threshold : public testing::TestWithParam<ThresholdRow> {};
TEST_P(Threshold, IsIncluded)
{
  const ThresholdRow &row = GetParam();
  const std::vector<Owned> owned = row.tensors();
  DecodeOptions options = row.options;
  options.threshold = 0.5F;
  const auto found = decode(row.kind, views(owned), options);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->size(), 1U);
  options.threshold = std::nextafter(0.5F, 1.0F);
  const auto none = decode(row.kind, views(owned), options);
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_TRUE(none->empty());
}
INSTANTIATE_TEST_SUITE_P(Decode, Threshold, testing::ValuesIn(kThresholds));

struct RefusedRow {
  const char *name;
  const char *kind;
  DecodeOptions options;
  std::function<std::vector<Owned>()> tensors;
  const char *says;
};

std::ostream &operator<<(std::ostream &out, const RefusedRow &row)
{
  return out << row.name;
}

const RefusedRow kRefused[] = {
    {"BlazeFace, one tensor", "blazeface", kSmall, [] { auto t = no_faces(); t.pop_back(); return t; }, "tensor regressors 1x14x16"},
    {"BlazeFace, no tensor", "blazeface", kSmall, [] { return std::vector<Owned>(); }, "no tensor"},
    {"BlazeFace, two of rows", "blazeface", kSmall, [] { auto t = no_faces(); t[1] = t[0]; return t; }, "rows of 16 numbers and one of scores"},
    {"BlazeFace, fewer logits", "blazeface", kSmall, [] { auto t = no_faces(); t[1] = {"c", {1, 13}, std::vector<float>(13)}; return t; }, "there are 14 rows and 13 scores"},
    {"BlazeFace, another input", "blazeface", kWide, no_faces, "an input of 200x100 has"},
    {"BlazeFace, no input size", "blazeface", options_of(0, 0), no_faces, "an input of 0x0 has 0 anchors"},
    {"BlazeFace, fewer values than the dimensions say", "blazeface", kSmall, [] { auto t = no_faces(); t[0].values.pop_back(); return t; }, "rows of 16"},
    {"SSD, two tensors", "ssd", kWide, [] { auto t = two_objects(); t.resize(2); return t; }, "needs boxes, scores, classes"},
    {"SSD, five tensors", "ssd", kWide, [] { auto t = two_objects(); t.push_back(t[3]); return t; }, "needs boxes, scores, classes"},
    {"SSD, boxes of five numbers", "ssd", kWide, [] { auto t = two_objects(); t[0] = {"", {1, 3, 5}, std::vector<float>(15)}; return t; }, "1x3x5"},
    {"SSD, more scores than boxes", "ssd", kWide, [] { auto t = two_objects(); t[2] = {"", {4}, std::vector<float>(4)}; return t; }, "have to be as many"},
    {"SSD, two counts", "ssd", kWide, [] { auto t = two_objects(); t[3] = {"", {2}, {1, 1}}; return t; }, "has to be one number"},
    {"SSD, no input size", "ssd", options_of(0, 5), two_objects, "size of the model's input is not known"},
    {"YOLOv8, no class", "yolov8", kWide, [] { return std::vector<Owned>{{"o", {1, 4, 9}, std::vector<float>(36)}}; }, "(4 + classes) x boxes"},
    {"YOLOv8, four dimensions in one tensor", "yolov8", kWide, [] { return std::vector<Owned>{{"o", {1, 6, 7, 2}, std::vector<float>(84)}}; }, "tensor o 1x6x7x2"},
    {"YOLOv8, no dimension", "yolov8", kWide, [] { return std::vector<Owned>{{"o", {}, {1}}}; }, "without dimensions"},
    {"YOLOv8, dimensions that overflow", "yolov8", kWide, [] { return std::vector<Owned>{{"o", {std::size_t{1} << 40, std::size_t{1} << 40}, {1}}}; }, "not as many"},
    {"YOLOv8, a dimension of 0", "yolov8", kWide, [] { return std::vector<Owned>{{"o", {0, 7}, {}}}; }, "not as many"},
    {"YOLOv8, no classes for a stride", "yolov8", kSquare, [] { auto t = strides(true, true); t.pop_back(); return t; }, "no class tensor has the 2x2 cells of the boxes box2"},
    {"YOLOv8, classes without boxes", "yolov8", kSquare, [] { auto t = strides(true, true); t.erase(t.begin()); return t; }, "goes with cls4"},
    {"YOLOv8, other classes per stride", "yolov8", kSquare, [] { auto t = strides(true, true); t[3] = {"cls2", {1, 2, 2, 5}, std::vector<float>(20)}; return t; }, "different numbers of classes"},
    {"YOLOv8, strides without an input size", "yolov8", options_of(0, 0), [] { return strides(true, true); }, "size of the model's input is not known"},
};

class Refused : public testing::TestWithParam<RefusedRow> {};

TEST_P(Refused, SaysWhy)
{
  const RefusedRow &row = GetParam();
  const auto owned = row.tensors();
  const auto found = decode(row.kind, views(owned), row.options);
  ASSERT_FALSE(found) << text_of(*found);
  EXPECT_EQ(found.error().code, ErrorCode::Layout);
  EXPECT_NE(found.error().message.find(row.says), std::string::npos) << found.error().message;
  EXPECT_NE(found.error().message.find("Set the property decoder"), std::string::npos) << found.error().message;
}

INSTANTIATE_TEST_SUITE_P(Decode, Refused, testing::ValuesIn(kRefused));

TEST(Recognise, NothingKnown)
{
  const std::vector<Owned> owned{{"probabilities", {1, 1000}, std::vector<float>(1000)}, {"", {1, 3}, {1, 2, 3}}, {"x", {1}, {1}}};
  const auto kind = recognise(views(owned), kWide);
  ASSERT_FALSE(kind);
  EXPECT_NE(kind.error().message.find("probabilities 1x1000, (unnamed) 1x3, x 1"), std::string::npos) << kind.error().message;
}

} // namespace
