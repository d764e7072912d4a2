// SPDX-License-Identifier: LGPL-2.1-or-later
// The tensor equals the reference, byte for byte, and every plane and the tensor end (or start) at a page that nobody
// may touch.
#include "engine/preprocess.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <drm_fourcc.h>
#include <gtest/gtest.h>

#include <gst/drm/core/drm_facts.hpp>
#include <gst/drm/core/format.hpp>

#include "preprocess_reference.hpp"
#include "support/guarded.hpp"

using namespace gstdrm;
using namespace gstdrm::metis;
using gstdrm::test::Against;
using gstdrm::test::Guarded;

namespace {

struct FormatRow {
  const char *name;
  std::uint32_t fourcc;
};

constexpr FormatRow kFormats[] = {
    {"NV12", DRM_FORMAT_NV12},     {"XR24", DRM_FORMAT_XRGB8888}, {"AR24", DRM_FORMAT_ARGB8888}, {"XB24", DRM_FORMAT_XBGR8888},
    {"AB24", DRM_FORMAT_ABGR8888}, {"RG24", DRM_FORMAT_RGB888},   {"BG24", DRM_FORMAT_BGR888},   {"YU12", DRM_FORMAT_YUV420},
    {"YV12", DRM_FORMAT_YVU420},   {"NV21", DRM_FORMAT_NV21},     {"NV16", DRM_FORMAT_NV16},     {"NV61", DRM_FORMAT_NV61},
    {"NV24", DRM_FORMAT_NV24},     {"YU16", DRM_FORMAT_YUV422},   {"YU24", DRM_FORMAT_YUV444},   {"YUYV", DRM_FORMAT_YUYV},
    {"YVYU", DRM_FORMAT_YVYU},     {"UYVY", DRM_FORMAT_UYVY},     {"VYUY", DRM_FORMAT_VYUY},     {"R8", DRM_FORMAT_R8},
    {"P010", DRM_FORMAT_P010},     {"P012", DRM_FORMAT_P012},     {"P016", DRM_FORMAT_P016},     {"S010", kFourccS010},
    {"S210", kFourccS210},         {"S410", kFourccS410},
};

struct SizeRow {
  std::uint32_t width, height;
  std::uint32_t stride_extra;
};

constexpr SizeRow kSizes[] = {
    {1, 1, 0}, {2, 2, 3}, {1, 9, 0}, {17, 9, 0}, {17, 9, 47}, {128, 128, 0}, {640, 480, 0}, {1919, 1079, 1}, {1920, 1080, 128},
};

struct TensorRow {
  const char *name;
  TensorLayout layout;
  TensorType type;
  std::vector<std::size_t> dims;
  std::vector<Padding> padding;
  std::optional<Quantisation> quantisation;
  ChannelOrder order;
  std::array<float, 3> mean, scale;
};

constexpr std::array<float, 3> kNone{0, 0, 0};
constexpr std::array<float, 3> kOne{1, 1, 1};
constexpr std::array<float, 3> kUnit{1.0F / 255, 1.0F / 255, 1.0F / 255};
constexpr std::array<float, 3> kMean{123.675F, 116.28F, 103.53F};
constexpr std::array<float, 3> kDeviation{1 / 58.395F, 1 / 57.12F, 1 / 57.375F};

const std::vector<TensorRow> &tensors()
{
  static const std::vector<TensorRow> rows = {
      {"NHWC int8, wide: 1919 and 1920 columns are scaled down by less than 4", TensorLayout::Nhwc, TensorType::Int8, {1, 9, 500, 3}, {}, Quantisation{1.0 / 255, -128}, ChannelOrder::Rgb, kNone, kUnit},
      {"NHWC int8, an offset", TensorLayout::Nhwc, TensorType::Int8, {1, 20, 37, 3}, {}, Quantisation{1.0 / 255, -128}, ChannelOrder::Rgb, kNone, kUnit},
      {"NHWC uint8 without quantisation, BGR", TensorLayout::Nhwc, TensorType::UInt8, {1, 33, 18, 3}, {}, {}, ChannelOrder::Bgr, kNone, kOne},
      {"NHWC int8 of 4 channels, padded around", TensorLayout::Nhwc, TensorType::Int8, {1, 24, 40, 4}, {{0, 0}, {1, 2}, {3, 1}, {0, 1}}, Quantisation{0.01865845, -14}, ChannelOrder::Rgb, kMean, kDeviation},
      {"NHWC uint8 of 8 channels, some before", TensorLayout::Nhwc, TensorType::UInt8, {1, 9, 70, 8}, {{0, 0}, {0, 0}, {0, 3}, {2, 3}}, Quantisation{0.02, 114}, ChannelOrder::Bgr, kMean, kDeviation},
      {"NHWC uint8 of 4 channels, one before", TensorLayout::Nhwc, TensorType::UInt8, {1, 5, 16, 4}, {{0, 0}, {0, 0}, {0, 0}, {1, 0}}, Quantisation{0.5, 7}, ChannelOrder::Rgb, kNone, kOne},
      {"NHWC int8 by a table: steep", TensorLayout::Nhwc, TensorType::Int8, {1, 16, 16, 3}, {}, Quantisation{0.1, 3}, ChannelOrder::Rgb, kMean, kOne},
      {"NHWC int8, falling, on ties", TensorLayout::Nhwc, TensorType::Int8, {1, 16, 16, 3}, {}, Quantisation{2, 5}, ChannelOrder::Rgb, {3, 100, 200}, {-1, -0.5F, 1}},
      {"NCHW int8", TensorLayout::Nchw, TensorType::Int8, {1, 3, 20, 37}, {}, Quantisation{0.0186, 0}, ChannelOrder::Rgb, kMean, kDeviation},
      {"NCHW uint8, channels and rows padded", TensorLayout::Nchw, TensorType::UInt8, {1, 6, 17, 50}, {{0, 0}, {1, 2}, {2, 0}, {0, 11}}, Quantisation{1, 9}, ChannelOrder::Bgr, kNone, kOne},
      {"NHWC float", TensorLayout::Nhwc, TensorType::Float32, {1, 16, 29, 3}, {}, {}, ChannelOrder::Rgb, kMean, kDeviation},
      {"NHWC float, padded", TensorLayout::Nhwc, TensorType::Float32, {1, 16, 16, 5}, {{0, 0}, {1, 1}, {2, 0}, {1, 1}}, {}, ChannelOrder::Bgr, kNone, kUnit},
      {"NCHW float", TensorLayout::Nchw, TensorType::Float32, {1, 3, 31, 16}, {}, {}, ChannelOrder::Rgb, kNone, kUnit},
      {"NCHW float, padded, a quantisation that is ignored", TensorLayout::Nchw, TensorType::Float32, {1, 4, 16, 16}, {{0, 0}, {0, 1}, {0, 2}, {1, 0}}, Quantisation{0.5, 3}, ChannelOrder::Bgr, {127.5F, 127.5F, 127.5F}, {1 / 127.5F, 1 / 127.5F, 1 / 127.5F}},
  };
  return rows;
}

Model model_of(const TensorRow &row, Fit fit)
{
  Model model;
  model.name = row.name;
  model.image = {row.layout, row.order, fit, row.mean, row.scale};
  model.input.type = row.type;
  model.input.dims = row.dims;
  model.input.padding = row.padding;
  model.input.quantisation = row.quantisation;
  return model;
}

// Bytes without a pattern, many of them extremes, so that colours leave the range.
const std::vector<std::uint8_t> &noise()
{
  static const std::vector<std::uint8_t> bytes = [] {
    std::vector<std::uint8_t> made(65521);
    std::minstd_rand random(1);
    for (auto &byte : made) {
      const unsigned value = static_cast<unsigned>(random()) >> 8;
      const unsigned extreme = value & 1 ? 255 : 0;
      byte = static_cast<std::uint8_t>(value & 0x300 ? value : extreme);
    }
    return made;
  }();
  return bytes;
}

// A picture whose planes end at the last byte of their last row.
struct Picture {
  std::vector<Guarded> planes;
  PictureView view;

  Picture(const FormatRow &format, const SizeRow &size, Against against, unsigned seed)
  {
    view.fourcc = format.fourcc;
    view.width = size.width;
    view.height = size.height;
    const auto add = [&](std::uint32_t row_bytes, std::uint32_t n_rows) {
      const std::size_t i = planes.size();
      view.strides[i] = row_bytes + size.stride_extra;
      const std::size_t bytes = std::size_t{view.strides[i]} * (n_rows - 1) + row_bytes;
      planes.emplace_back(bytes, against);
      const std::vector<std::uint8_t> &from = noise();
      for (std::size_t at = 0, skip = seed + i; at < bytes; at += from.size() - skip, skip = 0)
        std::memcpy(planes.back().data() + at, from.data() + skip, std::min(bytes - at, from.size() - skip));
      const bool low_bits = format.name[0] == 'S'; // 10 of a word; noise has one more
      for (std::size_t at = 0; low_bits && at < bytes; ++at)
        planes.back().data()[at] &= at % view.strides[i] % 2 ? 7 : 255;
      view.planes[i] = planes.back().data();
    };
    const FourccInfo &info = *fourcc_info(format.fourcc);
    for (std::size_t i = 0; i < info.n_planes; ++i)
      add(plane_row_bytes(info.planes[i], size.width), plane_rows(info.planes[i], size.height));
  }
};

Padding padding_of(const TensorInfo &info, std::size_t dim)
{
  return info.padding.empty() ? Padding{} : info.padding[dim];
}

// Where one element of a tensor lies, in the words of the model's description.
struct Place {
  std::int64_t y, x, channel; // without padding
  bool is_padding;
};

class Tensor {
public:
  Tensor(const Model &model, Against against) : model_(model), memory_(model.input.size_bytes(), against)
  {
    std::memset(memory_.data(), 0x5a, model.input.size_bytes());
  }
  [[nodiscard]] std::byte *data() const { return reinterpret_cast<std::byte *>(memory_.data()); }
  [[nodiscard]] double at(std::size_t element) const
  {
    if (model_.input.type == TensorType::UInt8)
      return memory_.data()[element];
    if (model_.input.type == TensorType::Int8)
      return static_cast<std::int8_t>(memory_.data()[element]);
    float value = 0;
    std::memcpy(&value, memory_.data() + element * sizeof value, sizeof value);
    return static_cast<double>(value);
  }
  [[nodiscard]] Place place(std::size_t element) const
  {
    const TensorInfo &info = model_.input;
    std::array<std::int64_t, 4> index{};
    bool is_padding = false;
    for (std::size_t dim = 4; dim-- > 0;) {
      const auto padding = padding_of(info, dim);
      const auto at = static_cast<std::int64_t>(element % info.dims[dim]);
      element /= info.dims[dim];
      index[dim] = at - static_cast<std::int64_t>(padding.before);
      is_padding |= index[dim] < 0 || at >= static_cast<std::int64_t>(info.dims[dim] - padding.after);
    }
    if (model_.image.layout == TensorLayout::Nhwc)
      return {index[1], index[2], index[3], is_padding};
    return {index[2], index[3], index[1], is_padding};
  }

private:
  const Model &model_;
  Guarded memory_;
};

reference::Box box_of(const Model &model, const PictureView &view, const Sampling &sampling)
{
  const std::size_t h = model.image.layout == TensorLayout::Nhwc ? 1 : 2;
  const auto inner = [&](std::size_t dim) {
    const auto padding = padding_of(model.input, dim);
    return static_cast<std::int64_t>(model.input.dims[dim] - padding.before - padding.after);
  };
  auto box = reference::content_box(model.image.fit, view.width, view.height, inner(h + 1), inner(h), sampling);
  if (model.image.place == LetterboxPlace::TopLeft)
    box.x = box.y = 0;
  return box;
}

double expected(const Model &model, const PictureView *view, const reference::Box &box, const Place &place, const Sampling &sampling)
{
  if (place.is_padding)
    return model.input.type == TensorType::Float32 ? 0 : model.input.quantisation.value_or(Quantisation{}).zero_point;
  const auto channel = static_cast<int>(place.channel);
  const int colour = model.image.order == ChannelOrder::Rgb ? channel : 2 - channel;
  const std::int64_t x = place.x - box.x;
  const std::int64_t y = place.y - box.y;
  double level = static_cast<double>(model.image.bars[static_cast<std::size_t>(channel)]);
  if (view && x >= 0 && y >= 0 && x < box.width && y < box.height)
    level = reference::channel_at(*view, box, x, y, colour, sampling);
  return reference::tensor_value(model, channel, level);
}

// Compares every `step`-th element. A null view: no picture is in the tensor.
void compare(const Model &model, const PictureView &shape, const PictureView *view, const Tensor &tensor, std::size_t step,
             const Sampling &sampling = {})
{
  const reference::Box box = box_of(model, shape, sampling);
  for (std::size_t element = 0; element < model.input.n_elements(); element += step) {
    const Place place = tensor.place(element);
    const double want = expected(model, view, box, place, sampling);
    const double tolerance = model.input.type == TensorType::Float32 ? std::abs(want) * 1e-6 : 0;
    ASSERT_NEAR(tensor.at(element), want, tolerance)
        << model.name << (model.image.fit == Fit::Stretch ? ", stretch" : ", letterbox") << ", matrix "
        << static_cast<int>(shape.matrix) << (shape.full_range ? " full" : " limited") << ": element " << element
        << (place.is_padding ? ", padding" : "") << ", row " << place.y << " column " << place.x << " channel " << place.channel;
  }
}

void run_and_compare(const Model &model, const PictureView &view, std::size_t step, Against against, const Sampling &sampling = {})
{
  auto made = Preprocessor::create(model, view.fourcc, view.width, view.height, view.matrix, view.full_range, sampling);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->tensor_bytes(), model.input.size_bytes());
  ASSERT_TRUE(made->accepts(view));
  const Tensor tensor(model, against);
  made->run(view, tensor.data());
  compare(model, view, &view, tensor, step, sampling);
}

using Row = std::tuple<FormatRow, SizeRow>;

std::string row_name(const testing::TestParamInfo<Row> &info)
{
  const auto &[format, size] = info.param;
  return std::string(format.name) + "_" + std::to_string(size.width) + "x" + std::to_string(size.height) +
         (size.stride_extra ? "_stride" : "");
}

class Preprocess : public testing::TestWithParam<Row> {};

TEST_P(Preprocess, GivesTheReferencesBytes)
{
  const auto &[format, size] = GetParam();
  Picture picture(format, size, Against::End, 1);
  unsigned turn = size.width + format.fourcc % 5;
  for (const TensorRow &row : tensors())
    for (const Fit fit : {Fit::Stretch, Fit::Letterbox}) {
      picture.view.matrix = static_cast<ColorMatrix>(turn % 3);
      picture.view.full_range = turn / 3 % 2;
      ASSERT_NO_FATAL_FAILURE(run_and_compare(model_of(row, fit), picture.view, 3, Against::End));
      turn += 1;
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, Preprocess, testing::Combine(testing::ValuesIn(kFormats), testing::ValuesIn(kSizes)),
                         row_name);

class Parts : public testing::TestWithParam<FormatRow> {};

// Unscaled, a part of a picture has the pixels that it has in the picture; at its edges, chroma has no neighbours.
TEST_P(Parts, HaveThePixelsOfThePicture)
{
  constexpr std::uint32_t kX = 6, kY = 4, kEdge = 2;
  const Picture picture(GetParam(), {64, 40, 6}, Against::End, 1);
  const PictureView part = part_of(picture.view, kX, kY, 23, 19);
  const auto tensor_of = [](const PictureView &view) {
    const Model model = model_of({"as it is", TensorLayout::Nhwc, TensorType::UInt8, {1, view.height, view.width, 3}, {}, {}, ChannelOrder::Rgb, kNone, kOne}, Fit::Stretch);
    auto made = Preprocessor::create(model, view.fourcc, view.width, view.height, view.matrix, view.full_range);
    EXPECT_TRUE(made && made->accepts(view));
    std::vector<std::byte> tensor(model.input.size_bytes());
    made->run(view, tensor.data());
    return tensor;
  };
  const auto whole = tensor_of(picture.view), alone = tensor_of(part);
  for (std::uint32_t y = kEdge; y < part.height - kEdge; y++)
    for (std::uint32_t x = kEdge; x < part.width - kEdge; x++)
      for (std::uint32_t channel = 0; channel < 3; channel++)
        ASSERT_EQ(alone[(y * part.width + x) * 3 + channel], whole[((y + kY) * 64 + x + kX) * 3 + channel]) << x << ", " << y;
}

INSTANTIATE_TEST_SUITE_P(Formats, Parts, testing::ValuesIn(kFormats), [](const auto &info) { return std::string(info.param.name); });

struct ColourRow {
  const char *name;
  ColorMatrix matrix;
  bool full_range;
};

class Colours : public testing::TestWithParam<ColourRow> {};

// Every combination of 18 values of Y, Cb and Cr, unscaled.
TEST_P(Colours, OfYCbCrAreTheReferences)
{
  constexpr unsigned kValues = 18;
  const FormatRow nv12 = kFormats[0];
  Picture picture(nv12, {2 * kValues * kValues, 2 * kValues, 0}, Against::End, 1);
  picture.view.matrix = GetParam().matrix;
  picture.view.full_range = GetParam().full_range;
  for (unsigned y = 0; y < picture.view.height; ++y)
    for (unsigned x = 0; x < picture.view.width; ++x)
      picture.planes[0].data()[y * picture.view.strides[0] + x] = static_cast<std::uint8_t>(x / (2 * kValues) * 15);
  for (unsigned y = 0; y < kValues; ++y)
    for (unsigned x = 0; x < kValues * kValues; ++x) {
      std::uint8_t *chroma = picture.planes[1].data() + y * picture.view.strides[1] + 2 * x;
      chroma[0] = static_cast<std::uint8_t>(x % kValues * 15);
      chroma[1] = static_cast<std::uint8_t>(y * 15);
    }
  const TensorRow row = {"as it is", TensorLayout::Nhwc, TensorType::UInt8, {1, picture.view.height, picture.view.width, 3}, {}, {}, ChannelOrder::Rgb, kNone, kOne};
  run_and_compare(model_of(row, Fit::Stretch), picture.view, 5, Against::End);
}

constexpr ColourRow kColours[] = {
    {"bt601", ColorMatrix::Bt601, false},   {"bt601_full", ColorMatrix::Bt601, true},
    {"bt709", ColorMatrix::Bt709, false},   {"bt709_full", ColorMatrix::Bt709, true},
    {"bt2020", ColorMatrix::Bt2020, false}, {"bt2020_full", ColorMatrix::Bt2020, true},
    {"smpte240m", ColorMatrix::Smpte240m, false}, {"fcc", ColorMatrix::Fcc, false},
};

INSTANTIATE_TEST_SUITE_P(Matrices, Colours, testing::ValuesIn(kColours),
                         [](const auto &info) { return std::string(info.param.name); });

struct SamplingRow {
  const char *name;
  Sampling sampling;
};

class Samplings : public testing::TestWithParam<SamplingRow> {};

// Where chroma lies, and the shape of a pixel, which letterbox keeps.
TEST_P(Samplings, AreTheReferences)
{
  const TensorRow row = {"200x150", TensorLayout::Nhwc, TensorType::UInt8, {1, 150, 200, 3}, {}, {}, ChannelOrder::Rgb, kNone, kOne};
  for (const FormatRow &format : kFormats) {
    const Picture picture(format, {320, 240, 0}, Against::End, 3);
    for (const Fit fit : {Fit::Stretch, Fit::Letterbox})
      ASSERT_NO_FATAL_FAILURE(run_and_compare(model_of(row, fit), picture.view, 7, Against::End, GetParam().sampling));
  }
}

constexpr SamplingRow kSamplings[] = {
    {"jpeg", {1, 1, false, false}},        {"left_and_top", {1, 1, true, true}}, {"top", {1, 1, false, true}},
    {"wide_pixels", {16, 15, true, false}}, {"narrow_pixels", {27, 64, true, false}},
    {"extreme_pixels", {2147483647, 1, true, false}}, {"other_extreme_pixels", {1, 2147483647, true, false}},
};

INSTANTIATE_TEST_SUITE_P(Rows, Samplings, testing::ValuesIn(kSamplings),
                         [](const auto &info) { return std::string(info.param.name); });

// The sizes of the benchmark, a sample of their pixels, and planes that start at a page that nobody may touch.
class FullSize : public testing::TestWithParam<FormatRow> {};

TEST_P(FullSize, GivesTheReferencesBytes)
{
  const TensorRow row = {"640x640", TensorLayout::Nhwc, TensorType::Int8, {1, 640, 640, 4}, {{0, 0}, {0, 0}, {0, 0}, {0, 1}}, Quantisation{1.0 / 255, -128}, ChannelOrder::Rgb, kNone, kUnit};
  for (const SizeRow size : {SizeRow{1920, 1080, 0}, SizeRow{90, 160, 5}}) {
    const Picture picture(GetParam(), size, Against::Start, 7);
    for (const Fit fit : {Fit::Stretch, Fit::Letterbox})
      ASSERT_NO_FATAL_FAILURE(run_and_compare(model_of(row, fit), picture.view, 997, Against::Start));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, FullSize, testing::ValuesIn(kFormats),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(PreprocessFormats, AreThoseOfTheTable)
{
  std::vector<std::uint32_t> tested;
  for (const FormatRow &row : kFormats)
    tested.push_back(row.fourcc);
  auto readable = Preprocessor::readable_fourccs();
  std::sort(tested.begin(), tested.end());
  std::sort(readable.begin(), readable.end());
  EXPECT_EQ(readable, tested);
}

// Models that were trained with the picture in the upper left corner, and grey around it.
TEST(PreprocessRun, PutsThePictureInTheCornerWithColouredBars)
{
  for (const SizeRow size : {SizeRow{20, 50, 0}, SizeRow{50, 20, 0}}) {
    const Picture picture(kFormats[0], size, Against::End, 1);
    for (const TensorRow &row : tensors()) {
      Model model = model_of(row, Fit::Letterbox);
      model.image.place = LetterboxPlace::TopLeft;
      model.image.bars = {114, 0, 255};
      ASSERT_NO_FATAL_FAILURE(run_and_compare(model, picture.view, 1, Against::End));
    }
  }
}

TEST(PreprocessRun, GivesABlackTensorForAPictureOfAnotherSize)
{
  const Picture picture(kFormats[0], {16, 16, 0}, Against::End, 1);
  for (const TensorRow &row : tensors()) {
    const Model model = model_of(row, Fit::Letterbox);
    auto made = Preprocessor::create(model, DRM_FORMAT_NV12, 32, 16, ColorMatrix::Bt601, false);
    ASSERT_TRUE(made) << made.error().message;
    const Tensor tensor(model, Against::End);
    made->run(picture.view, tensor.data());
    ASSERT_NO_FATAL_FAILURE(compare(model, picture.view, nullptr, tensor, 1));
  }
}

// Of a picture of two rows, and of its one row of chroma, nothing is kept for the next one either.
TEST(PreprocessRun, OverwritesAllThatTheRunBeforeWrote)
{
  for (const std::uint32_t height : {10U, 2U}) {
    const Picture bright(kFormats[0], {20, height, 0}, Against::End, 1);
    const Picture other(kFormats[0], {20, height, 9}, Against::End, 2);
    const Model model = model_of(tensors()[3], Fit::Letterbox);
    auto made = Preprocessor::create(model, DRM_FORMAT_NV12, 20, height, ColorMatrix::Bt601, false);
    ASSERT_TRUE(made) << made.error().message;
    const Tensor tensor(model, Against::End);
    made->run(bright.view, tensor.data());
    made->run(other.view, tensor.data());
    ASSERT_NO_FATAL_FAILURE(compare(model, other.view, &other.view, tensor, 1));
  }
}

} // namespace
