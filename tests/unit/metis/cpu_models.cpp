// SPDX-License-Identifier: LGPL-2.1-or-later
// Models that others made: what each runtime opens of them, and the outputs. The files are not part of the sources:
// they are in the folder of meson's option test-models.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>

#include <gtest/gtest.h>

#include "cpu_backend_run.hpp"
#include "gst/metis/engine/model_file.hpp"

namespace {

using gstdrm::metis::read_model;
using gstdrm::metis::TensorInfo;
using gstdrm::test::expect_words;
using gstdrm::test::kOrt;
using gstdrm::test::open_model;
using gstdrm::test::run;
using gstdrm::test::Values;

using Dims = std::vector<std::size_t>;
using Words = std::vector<const char *>;

struct Output {
  const char *name;
  Dims dims;
};

struct Row {
  const char *name;
  const char *file; // without .onnx
  Dims described;   // of the input; empty: the file has them
  Dims input;
  std::vector<Output> outputs;
  bool is_share = false; // the output's values add up to 1
  Words opencv_refuses{}, ort_refuses{};
};

void PrintTo(const Row &row, std::ostream *out) { *out << row.name; }

std::vector<Output> yunet(std::size_t side)
{
  std::vector<Output> made;
  const struct { const char *names[3]; std::size_t values; } kinds[] = {
      {{"cls_8", "cls_16", "cls_32"}, 1},
      {{"obj_8", "obj_16", "obj_32"}, 1},
      {{"bbox_8", "bbox_16", "bbox_32"}, 4},
      {{"kps_8", "kps_16", "kps_32"}, 10},
  };
  for (const auto &kind : kinds)
    for (std::size_t i = 0; i < 3; i++) {
      const std::size_t cells = side / (std::size_t{8} << i);
      made.push_back({kind.names[i], {1, cells * cells, kind.values}});
    }
  return made;
}

const Words kOpenCv = {"OpenCV "};
const Words kAnySize = {"any size (1x3x?x?)", "write dims in section [", ".modelinfo"};
const Dims kDet{1, 3, 352, 352};

const Row kRows[] = {
    {"blazeface", "blazeface-short-128", {}, {1, 3, 128, 128}, {{"regressors", {1, 896, 16}}, {"classificators", {1, 896, 1}}}},
    {"ultraface", "ultraface-rfb-320", {}, {1, 3, 240, 320}, {{"scores", {1, 4420, 2}}, {"boxes", {1, 4420, 4}}}},
    {"ultraface_undecoded", "ultraface-rfb-320-undecoded", {}, {1, 3, 240, 320}, {{"scores", {1, 4420, 2}}, {"boxes", {1, 4420, 4}}}},
    {"yunet", "yunet-n-320", {}, {1, 3, 320, 320}, yunet(320)},
    {"yunet_dynamic", "yunet-n-dynamic", {1, 3, 512, 512}, {1, 3, 512, 512}, yunet(512), false, kOpenCv},
    {"yunet_dynamic_of_no_size", "yunet-n-dynamic", {}, {}, {}, false, kAnySize, kAnySize},
    {"yolox", "yolox-nano-416", {}, {1, 3, 416, 416}, {{"output", {1, 3549, 85}}}},
    {"fastestdet", "fastestdet-352", {}, kDet, {{"758", {1, 85, 22, 22}}}},
    {"fastestdet_qdq", "fastestdet-352-qdq", {}, kDet, {{"758", {1, 85, 22, 22}}}, false, kOpenCv},
    {"fastestdet_ext", "fastestdet-352-ext", {}, kDet, {{"758", {1, 85, 22, 22}}}, false, {"keeps weights in fastestdet-352-ext.data", "Save the model"}},
    {"selfie", "selfie-segmentation-144x256", {}, {1, 144, 256, 3}, {{"segment_back", {1, 144, 256, 1}}}, false, kOpenCv},
    {"ppocr_det", "ppocr-v3-text-det-dynamic", {1, 3, 320, 480}, {1, 3, 320, 480}, {{"sigmoid_0.tmp_0", {1, 1, 320, 480}}}, false, kOpenCv},
    {"ppocr_det_of_no_size", "ppocr-v3-text-det-dynamic", {}, {}, {}, false, kAnySize, kAnySize},
    {"ppocr_angle", "ppocr-angle-cls-dynamic", {1, 3, 48, 192}, {1, 3, 48, 192}, {{"softmax_0.tmp_0", {1, 2}}}, true, kOpenCv},
    {"squeezenet_fp16", "squeezenet-fp16", {}, {1, 3, 224, 224}, {{"softmaxout_1", {1, 1000, 1, 1}}}, true, {"tensor data_0 of float16", "takes float32."}},
    {"mnist_quant", "mnist-quant", {}, {}, {}, false, {"takes 1x1x28x28", "grey picture"}, {"takes 1x1x28x28", "grey picture"}},
};

gstdrm::Result<std::unique_ptr<gstdrm::metis::Backend>> open(const char *file, const Dims &described)
{
  auto model = read_model(std::string(GST_DRM_TEST_MODELS) + "/" + file + ".onnx");
  if (!model)
    return model.error();
  model->input.dims = described;
  return open_model(*model);
}

// The same each time, between 0 and 1.
std::vector<float> picture(const TensorInfo &input)
{
  std::vector<float> values(input.n_elements());
  std::uint32_t state = 1;
  for (float &value : values)
    value = static_cast<float>((state = state * 1664525U + 1013904223U) >> 8) / static_cast<float>(1U << 24);
  return values;
}

class CpuModels : public testing::TestWithParam<Row> {};

TEST_P(CpuModels, row)
{
  const Row &row = GetParam();
  const auto backend = open(row.file, row.described);
  const Words &refused = kOrt ? row.ort_refuses : row.opencv_refuses;
  if (!refused.empty()) {
    ASSERT_FALSE(backend);
    expect_words(backend.error().message, refused);
    expect_words(backend.error().message, {row.file});
    return;
  }
  ASSERT_TRUE(backend) << backend.error().message;
  const gstdrm::metis::Model &model = (*backend)->model();
  EXPECT_EQ(model.input.dims, row.input);
  ASSERT_EQ(model.outputs.size(), row.outputs.size());
  for (std::size_t i = 0; i < row.outputs.size(); i++) {
    EXPECT_EQ(model.outputs[i].name, row.outputs[i].name);
    EXPECT_EQ(model.outputs[i].dims, row.outputs[i].dims) << row.outputs[i].name;
  }
  const auto values = run(**backend, picture(model.input));
  ASSERT_TRUE(values) << values.error().message;
  for (const auto &output : *values)
    EXPECT_TRUE(std::all_of(output.begin(), output.end(), [](float value) { return std::isfinite(value); }));
  if (row.is_share) {
    EXPECT_NEAR(std::accumulate(values->front().begin(), values->front().end(), 0.0), 1.0, 0.01);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, CpuModels, testing::ValuesIn(kRows),
                         [](const auto &row) { return std::string(row.param.name); });

// The same weights, in the model and beside it.
TEST(CpuModelPairs, weights_inside_and_outside)
{
  if (!kOrt)
    return; // OpenCV reads one file: see the row fastestdet_ext
  std::vector<Values> both;
  for (const char *file : {"fastestdet-352", "fastestdet-352-ext"}) {
    const auto backend = open(file, {});
    ASSERT_TRUE(backend) << backend.error().message;
    auto values = run(**backend, picture((*backend)->model().input));
    ASSERT_TRUE(values) << values.error().message;
    both.push_back(std::move(*values));
  }
  EXPECT_EQ(both[0], both[1]);
}

} // namespace
