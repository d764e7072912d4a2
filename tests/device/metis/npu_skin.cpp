// SPDX-License-Identifier: LGPL-2.1-or-later
// Model 2 of the test NPU through the axl back end: its numbers, and that the decoder finds what is
// there.
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/decode/decoders.hpp"
#include "engine/model_file.hpp"
#include "npu_support.hpp"
#include "support/check_main.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::metis::DecodeOptions;
using gstdrm::metis::Detection;

// A frame of the grey background with a patch of the colour of skin.
struct SkinRow {
  std::uint32_t width;
  std::uint32_t height;
  std::uint32_t stride_align;
  // the patch, in 256ths of the frame
  float x, y, w, h;
};
constexpr SkinRow kRows[] = {
    {256, 256, 1, 64, 96, 32, 32},
    {320, 240, 256, 128, 64, 24, 40},
    {640, 480, 64, 8, 184, 48, 48},
    {1280, 720, 4096, 160, 80, 32, 56},
    {640, 480, 64, 96, 120, 80, 112},
};

void paint(NpuFrame &frame, const SkinRow &row)
{
  std::uint8_t *chroma = frame.memory->bytes() + frame.layout.planes[1].offset_bytes;
  for (std::uint32_t y = 0; y < row.height / 2; y++) {
    std::uint8_t *line = chroma + static_cast<std::size_t>(y) * frame.layout.planes[1].stride_bytes;
    const float at_y = 512.0F * static_cast<float>(y) / static_cast<float>(row.height);
    for (std::uint32_t x = 0; x < row.width / 2; x++) {
      const float at_x = 512.0F * static_cast<float>(x) / static_cast<float>(row.width);
      const bool skin =
          at_x >= row.x && at_x < row.x + row.w && at_y >= row.y && at_y < row.y + row.h;
      line[2 * x] = skin ? 113 : 128;
      line[2 * x + 1] = skin ? 144 : 128;
    }
  }
}

std::vector<float> run(const NpuFrame &frame)
{
  auto options = npu_options();
  options.model.name = "skin";
  options.model.device_id = kSkinModel;
  auto backend = open_npu(options);
  const auto &output = backend->model().outputs[0];
  fail_unless(output.type == gstdrm::metis::TensorType::Float32);
  fail_unless(output.dims == std::vector<std::size_t>({1, 5, kSkinBoxes}));
  fail_if(output.quantisation.has_value());
  const DmaBytes result(DmaBytes::From::Udmabuf, output.size_bytes());
  finish_well(*backend, submit(*backend, frame, result));
  std::vector<float> values(output.n_elements());
  std::memcpy(values.data(), result.bytes(), output.size_bytes());
  return values;
}

GST_START_TEST(test_numbers)
{
  const SkinRow &row = kRows[__i__];
  NpuFrame frame(DmaBytes::From::Heap, row.width, row.height, row.stride_align);
  frame.fill(row.width);
  fail_unless(run(frame) == npu_skin_reference(frame.layout, frame.memory->bytes()));
  paint(frame, row);
  fail_unless(run(frame) == npu_skin_reference(frame.layout, frame.memory->bytes()));
}
GST_END_TEST

GST_START_TEST(test_found)
{
  const SkinRow &row = kRows[__i__];
  NpuFrame frame(DmaBytes::From::Heap, row.width, row.height, row.stride_align);
  paint(frame, row);
  const std::vector<float> values = run(frame);
  const gstdrm::metis::TensorValues tensor{"skin", {1, 5, kSkinBoxes}, values};
  DecodeOptions options;
  options.input_width = options.input_height = 256;
  gstdrm::metis::OutputForm form;
  const auto found = gstdrm::metis::decoder_named("yolov8")->decode({&tensor, 1}, options, form);
  fail_unless(static_cast<bool>(found), "%s", found ? "" : found.error().message.c_str());
  fail_unless(!found->empty(), "nothing was found");
  const Detection &best = found->front();
  g_print("# %.2f at %.0f,%.0f %.0fx%.0f\n", best.score, best.x, best.y, best.width, best.height);
  fail_unless(best.score > 0.9F);
  // to a step of the windows
  fail_unless(std::abs(best.x - row.x) <= 8 && std::abs(best.y - row.y) <= 8);
  fail_unless(std::abs(best.width - row.w) <= 8 && std::abs(best.height - row.h) <= 8);
}
GST_END_TEST

struct ModelRow {
  const char *file;
  std::uint32_t device_id;
};
constexpr ModelRow kModels[] = {{"check.npu", kCheckModel}, {"skin.npu", kSkinModel}};

// The descriptions beside the driver are those of what it has.
GST_START_TEST(test_description)
{
  const ModelRow &row = kModels[__i__];
  const auto model = gstdrm::metis::read_model(std::string(GST_DRM_TEST_NPU_MODELS "/") + row.file);
  fail_unless(static_cast<bool>(model), "%s", model ? "" : model.error().message.c_str());
  fail_unless_equals_int(model->device_id.value_or(0), row.device_id);
  auto options = npu_options();
  options.model = *model;
  auto backend = open_npu(options);
  fail_unless_equals_int(backend->model().outputs.size(), 1);
  fail_unless(backend->model().outputs[0].dims == model->outputs.at(0).dims);
  fail_unless(backend->model().outputs[0].type == model->outputs.at(0).type);
}
GST_END_TEST

Suite *npu_skin_suite()
{
  Suite *suite = suite_create("npu_skin");
  TCase *tcase = tcase_create("npu_skin");
  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, npu_setup, npu_teardown);
  tcase_add_loop_test(tcase, test_numbers, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tcase, test_found, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tcase, test_description, 0, G_N_ELEMENTS(kModels));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(npu_skin)
