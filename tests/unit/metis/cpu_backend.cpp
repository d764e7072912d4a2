// SPDX-License-Identifier: LGPL-2.1-or-later
// BlazeFace on a real photograph.
#include <array>
#include <cmath>
#include <span>

#include <gtest/gtest.h>
#include <png.h>

#include "cpu_backend_run.hpp"
#include "gst/metis/engine/model_file.hpp"

namespace {

using gstdrm::metis::Backend;
using gstdrm::metis::read_model;
using gstdrm::test::data_file;
using gstdrm::test::open_model;
using gstdrm::test::run;

constexpr unsigned kSide = 128; // of the network's input

struct Picture {
  unsigned width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};

Picture read_png(const std::string &path)
{
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  Picture picture;
  if (png_image_begin_read_from_file(&image, path.c_str()) == 0)
    return picture;
  image.format = PNG_FORMAT_RGB;
  picture.rgb.resize(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, picture.rgb.data(), 0, nullptr) == 0)
    return {};
  picture.width = image.width;
  picture.height = image.height;
  return picture;
}

// Means of square blocks, in N×C×H×W. The picture is square, so letterboxing adds nothing.
std::vector<float> to_input(const Picture &picture, const gstdrm::metis::ImageInput &how)
{
  const unsigned block = picture.width / kSide;
  std::vector<float> input(std::size_t{3} * kSide * kSide);
  for (unsigned c = 0; c < 3; c++)
    for (unsigned y = 0; y < kSide; y++)
      for (unsigned x = 0; x < kSide; x++) {
        unsigned sum = 0;
        for (unsigned i = 0; i < block * block; i++)
          sum += picture.rgb[((y * block + i / block) * picture.width + x * block + i % block) * 3 + c];
        const float mean = static_cast<float>(sum) / static_cast<float>(block * block);
        input[(c * kSide + y) * kSide + x] = (mean - how.mean[c]) * how.scale[c];
      }
  return input;
}

struct Face {
  float score = 0, x = 0, y = 0, width = 0, height = 0; // the last four relative to the input
};

// Centres of the 896 anchors: two at each of 16x16 places, then six at each of 8x8.
std::array<float, 2> anchor(unsigned number)
{
  const unsigned cells = number < 512 ? 16 : 8;
  const unsigned place = number < 512 ? number / 2 : (number - 512) / 6;
  return {(static_cast<float>(place % cells) + 0.5F) / static_cast<float>(cells),
          (static_cast<float>(place / cells) + 0.5F) / static_cast<float>(cells)};
}

Face best_face(std::span<const float> regressors, std::span<const float> logits)
{
  Face best;
  for (unsigned i = 0; i < logits.size(); i++) {
    const float score = 1 / (1 + std::exp(-logits[i]));
    if (score <= best.score)
      continue;
    const auto [cx, cy] = anchor(i);
    const auto box = regressors.subspan(i * 16UL, 4);
    const float width = box[2] / kSide, height = box[3] / kSide;
    best = {score, cx + box[0] / kSide - width / 2, cy + box[1] / kSide - height / 2, width, height};
  }
  return best;
}

class CpuBackend : public testing::Test {
protected:
  void SetUp() override
  {
    picture_ = read_png(data_file("astronaut.png"));
    ASSERT_EQ(picture_.width, 512U);
    ASSERT_EQ(picture_.height, 512U);
    auto model = read_model(data_file("blazeface-short-128.onnx"));
    ASSERT_TRUE(model) << model.error().message;
    model_ = *model;
  }

  std::unique_ptr<Backend> open(unsigned threads)
  {
    auto backend = open_model(model_, threads);
    if (backend)
      return std::move(*backend);
    ADD_FAILURE() << backend.error().message;
    return nullptr;
  }

  Picture picture_;
  gstdrm::metis::Model model_;
};

TEST_F(CpuBackend, completes_the_description)
{
  const auto backend = open(1);
  ASSERT_TRUE(backend);
  const gstdrm::metis::Model &model = backend->model();
  EXPECT_STREQ(backend->name(), "cpu");
  EXPECT_EQ(backend->takes(), Backend::Takes::Tensors);
  EXPECT_FALSE(backend->takes_dmabuf_input());
  EXPECT_FALSE(backend->takes_dmabuf_output());
  EXPECT_EQ(model.name, "blazeface-short-range-128");
  EXPECT_EQ(model.decoder, "blazeface");
  EXPECT_EQ(model.input.dims, (std::vector<std::size_t>{1, 3, kSide, kSide}));
  ASSERT_EQ(model.outputs.size(), 2U);
  EXPECT_EQ(model.outputs[0].name, "regressors");
  EXPECT_EQ(model.outputs[0].dims, (std::vector<std::size_t>{1, 896, 16}));
  EXPECT_EQ(model.outputs[1].id, "blazeface-short-range-128-scores");
  EXPECT_EQ(model.outputs[1].dims, (std::vector<std::size_t>{1, 896, 1}));
}

TEST_F(CpuBackend, finds_the_face_of_the_photograph)
{
  const auto backend = open(1);
  ASSERT_TRUE(backend);
  const auto values = run(*backend, to_input(picture_, model_.image));
  ASSERT_TRUE(values) << values.error().message;
  const Face face = best_face((*values)[0], (*values)[1]);
  EXPECT_NEAR(face.score, 0.92, 0.03);
  EXPECT_NEAR(face.x * 512, 180, 4);
  EXPECT_NEAR(face.y * 512, 82, 4);
  EXPECT_NEAR(face.width * 512, 94, 4);
  EXPECT_NEAR(face.height * 512, 94, 4);
}

TEST_F(CpuBackend, finds_none_in_black)
{
  const auto backend = open(1);
  ASSERT_TRUE(backend);
  const auto values = run(*backend, std::vector<float>(std::size_t{3} * kSide * kSide, -1));
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_LT(best_face((*values)[0], (*values)[1]).score, 0.5);
}

TEST_F(CpuBackend, gives_the_same_with_two_threads_and_again)
{
  const auto input = to_input(picture_, model_.image);
  const auto one = open(1);
  ASSERT_TRUE(one);
  const auto first = run(*one, input);
  ASSERT_TRUE(first) << first.error().message;
  const auto two = open(2);
  ASSERT_TRUE(two);
  for (int i = 0; i < 3; i++) {
    const auto values = run(*two, input);
    ASSERT_TRUE(values) << values.error().message;
    EXPECT_EQ(*values, *first) << "run " << i;
  }
}

// Requests that overlap are done in order, each with its own memory.
TEST_F(CpuBackend, keeps_requests_apart)
{
  const auto backend = open(1);
  ASSERT_TRUE(backend);
  auto face = to_input(picture_, model_.image);
  std::vector<float> black(face.size(), -1);
  std::vector<float> boxes(2 * std::size_t{896} * 16), scores(2 * std::size_t{896});
  std::vector<gstdrm::metis::Submitted> submitted;
  for (unsigned i = 0; i < 2; i++) {
    const auto view = [](float *values, std::size_t count) {
      return gstdrm::metis::TensorView{-1, reinterpret_cast<std::byte *>(values),
                                       count * sizeof(float)};
    };
    const std::array outputs = {view(&boxes[i * 896UL * 16], 896UL * 16), view(&scores[i * 896UL], 896)};
    gstdrm::metis::Request request;
    request.input = view(i == 0 ? face.data() : black.data(), face.size());
    request.outputs = outputs;
    auto made = backend->submit(request);
    ASSERT_TRUE(made) << made.error().message;
    submitted.push_back(std::move(*made));
  }
  for (const auto &request : submitted) {
    pollfd done{request.done, POLLIN, 0};
    ASSERT_EQ(::poll(&done, 1, 60000), 1);
    const auto finished = backend->finish(request.id);
    ASSERT_TRUE(finished) << finished.error().message;
    EXPECT_GT(finished->on_device.count(), 0);
  }
  const std::span all_boxes(boxes), all_scores(scores);
  EXPECT_GT(best_face(all_boxes.first(896UL * 16), all_scores.first(896)).score, 0.9);
  EXPECT_LT(best_face(all_boxes.last(896UL * 16), all_scores.last(896)).score, 0.5);
}

TEST_F(CpuBackend, refuses_wrong_memory)
{
  const auto backend = open(1);
  ASSERT_TRUE(backend);
  const auto small = run(*backend, std::vector<float>(100));
  ASSERT_FALSE(small);
  EXPECT_NE(small.error().message.find("The input of the model "), std::string::npos);
  EXPECT_NE(small.error().message.find("has memory of 400 bytes, and the tensor has 196608."),
            std::string::npos)
      << small.error().message;

  std::vector<float> input(std::size_t{3} * kSide * kSide);
  gstdrm::metis::Request request;
  request.input = {-1, reinterpret_cast<std::byte *>(input.data()), input.size() * sizeof(float)};
  const auto none = backend->submit(request);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("has 2 outputs, and the request 0."),
            std::string::npos)
      << none.error().message;
  const std::array<gstdrm::metis::TensorView, 2> unmapped{};
  request.outputs = unmapped;
  const auto dark = backend->submit(request);
  ASSERT_FALSE(dark);
  EXPECT_NE(dark.error().message.find("has no host memory."), std::string::npos)
      << dark.error().message;
}

} // namespace
