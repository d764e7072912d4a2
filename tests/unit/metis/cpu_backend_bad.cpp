// SPDX-License-Identifier: LGPL-2.1-or-later
// What the CPU back end refuses: files, networks, parts. Each row is an Error that says what is wrong.
#include <filesystem>
#include <ostream>

#include <dlfcn.h>

#include <gtest/gtest.h>

#include "cpu_backend_run.hpp"
#include "gst/metis/engine/cpu/cpu_plugin.hpp"
#include "onnx_writer.hpp"

namespace {

using gstdrm::metis::Model;
using gstdrm::metis::TensorInfo;
using gstdrm::metis::TensorType;
using gstdrm::test::content_of;
using gstdrm::test::data_file;
using gstdrm::test::expect_words;
using gstdrm::test::kOrt;
using gstdrm::test::onnx_bytes;
using gstdrm::test::onnx_external;
using gstdrm::test::onnx_ints;
using gstdrm::test::onnx_number;
using gstdrm::test::OnnxModel;
using gstdrm::test::OnnxValue;
using gstdrm::test::open_model;
using gstdrm::test::run;
using gstdrm::test::ScratchFile;

const OnnxValue kIn{"in", {1, 3, 4, 4}};
const OnnxValue kOut{"out", {1, 3, 4, 4}};

std::string onnx(const OnnxValue &in, const OnnxValue &out, const std::string &op = "Relu")
{
  return OnnxModel{{{op, {in.name}, {out.name}}}, {in}, {out}}.file();
}

std::string two_inputs()
{
  return OnnxModel{{{"Add", {"in", "more"}, {"out"}}}, {kIn, {"more", {1, 3, 4, 4}}}, {kOut}}.file();
}

// A network with a weight, and one with a constant: a TensorProto without the name. The third has it in a network
// inside an operator, and the last that network in itself, many times.
std::string with_weight(const std::string &tensor)
{
  return OnnxModel{{{"Add", {"in", "w"}, {"out"}}}, {kIn}, {kOut}, 10, {tensor + onnx_bytes(8, "w")}}.file();
}

std::string with_constant(const std::string &tensor)
{
  const std::string attribute = onnx_bytes(1, "value") + onnx_bytes(5, onnx_number(1, 3) + onnx_number(2, 1) + tensor) + onnx_number(20, 4);
  return OnnxModel{{{"Constant", {}, {"w"}, onnx_bytes(5, attribute)}, {"Add", {"in", "w"}, {"out"}}}, {kIn}, {kOut}}.file();
}

std::string graph_attribute(const std::string &graph)
{
  return onnx_bytes(5, onnx_bytes(1, "then_branch") + onnx_bytes(6, graph) + onnx_number(20, 5));
}

std::string with_inner_weight(const std::string &tensor)
{
  return OnnxModel{{{"If", {"in"}, {"out"}, graph_attribute(onnx_bytes(5, tensor))}}, {kIn}, {kOut}}.file();
}

std::string nested(unsigned depth)
{
  std::string attribute;
  for (unsigned i = 0; i < depth; i++)
    attribute = graph_attribute(onnx_bytes(1, onnx_bytes(4, "If") + attribute));
  return OnnxModel{{{"If", {"in"}, {"out"}, attribute}}, {kIn}, {kOut}}.file();
}

// A float with its value in another file.
std::string outside(const std::string &file, const std::string &more = {})
{
  return onnx_number(1, 3) + onnx_number(2, 1) + onnx_external(file) + more;
}

std::string noise()
{
  std::string made;
  std::uint32_t state = 12345;
  for (int i = 0; i < 5000; i++)
    made += static_cast<char>((state = state * 1664525U + 1013904223U) >> 24);
  return made;
}

TensorInfo tensor(const char *name, const std::vector<std::size_t> &dims = {},
                  TensorType type = TensorType::Float32)
{
  TensorInfo made;
  made.name = name;
  made.dims = dims;
  made.type = type;
  return made;
}

using Words = std::vector<const char *>;

// What only one of the runtimes says.
Words says(const Words &opencv, const Words &ort) { return kOrt ? ort : opencv; }

struct Row {
  const char *name;
  std::string content;
  Words says;
  TensorInfo input{};
  std::vector<TensorInfo> outputs{};
};

void PrintTo(const Row &row, std::ostream *out) { *out << row.name; }

const char *kCut = "is cut off or is no ONNX file.";
const char *kNoPicture = "no picture of 3 channels";

const Row kRows[] = {
    {"empty", "", {"cannot be read", "empty"}},
    {"one_byte", "\x08", {"(1 bytes)", kCut}},
    {"noise", noise(), {"(5000 bytes)", kCut}},
    {"text", "[modelinfo]\nversion=1.0\n", {kCut}},
    {"zeros", std::string(1000, '\0'), {kCut}},
    {"length_beyond_any_file", "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", {kCut}},
    {"number_without_end", "\x08" + std::string(20, '\xff'), {kCut}},
    {"group_of_old_protobuf", "\x0b\x0c", {"has no network in it"}},
    {"group_of_old_protobuf_without_end", "\x0b", {kCut}},
    {"no_graph", onnx_bytes(8, "\x10\x0a"), {"has no network in it"}},
    {"no_opset", onnx(kIn, kOut).substr(0, onnx(kIn, kOut).size() - 4), {"does not say which version"}},
    {"unknown_operator", onnx(kIn, kOut, "Nonsense"), says({"operators of ONNX 10", "OpenCV ", "Nonsense"}, {"operators of ONNX 10", "ONNX Runtime ", "Nonsense"})},
    {"no_input", OnnxModel{{{"Relu", {"in"}, {"out"}}}, {}, {kOut}}.file(), {"has 0 inputs (none)"}},
    {"two_inputs", two_inputs(), {"has 2 inputs (in, more)"}},
    {"no_outputs", OnnxModel{{{"Relu", {"in"}, {"out"}}}, {kIn}, {}}.file(), {"has no outputs"}},
    {"input_that_nothing_gives", OnnxModel{{{"Add", {"in", "lost"}, {"out"}}}, {kIn}, {kOut}}.file(), {"an operator that wants lost", "nothing in it gives"}},
    {"weights_in_another_file", with_weight(outside("big.data")), says({"keeps weights in big.data", "Save the model with its weights inside"}, {"keeps weights in big.data, which cannot be read: ENOENT", "beside the model"})},
    {"a_constant_in_another_file", with_constant(onnx_external("c.data")), {"keeps weights in c.data"}},
    {"weights_of_an_inner_network_in_another_file", with_inner_weight(outside("inner.data")), {"keeps weights in inner.data"}},
    {"sparse_weights_of_an_operator_in_another_file", OnnxModel{{{"Constant", {}, {"w"}, onnx_bytes(5, onnx_bytes(1, "sparse_value") + onnx_bytes(22, onnx_bytes(1, outside("sparse.data"))))}, {"Add", {"in", "w"}, {"out"}}}, {kIn}, {kOut}}.file(), {"keeps weights in sparse.data"}},
    {"weights_in_an_absolute_file", with_weight(outside("/etc/passwd")), says({"keeps weights in /etc/passwd"}, {"keeps weights in \"/etc/passwd\", and only files in the model's own folder are read."})},
    {"weights_above_the_folder", with_weight(outside("../w.data")), says({"keeps weights in ../w.data"}, {"keeps weights in \"../w.data\"", "own folder"})},
    {"weights_above_the_folder_by_a_detour", with_weight(outside("a/../../w.data")), says({"a/../../w.data"}, {"\"a/../../w.data\"", "own folder"})},
    {"weights_in_a_file_whose_name_ends_early", with_weight(outside(std::string("w\0x", 3))), says({"keeps weights in "}, {"keeps weights in \"w\"", "own folder"})},
    {"weights_in_a_folder", with_weight(outside(".")), says({"keeps weights in ."}, {"keeps weights in ., which is no regular file"})},
    {"weights_in_a_file_without_name", with_weight(onnx_number(1, 3) + onnx_number(2, 1) + onnx_number(14, 1)), {"keeps weights in another file"}},
    {"networks_in_each_other", nested(40), {kCut}},
    {"weights_without_values", with_weight(onnx_number(1, 3) + onnx_number(2, 1)), {"has no values of the weight w"}},
    {"output_that_no_node_gives", OnnxModel{{{"Relu", {"in"}, {"out"}}}, {kIn}, {{"other", {1}}}}.file(), {"promises an output other", "nothing in it computes"}},
    {"input_of_uint8", onnx({"in", {1, 3, 4, 4}, 2}, kOut), says({"tensor in of uint8", "takes float32."}, {"tensor in of uint8", "takes float32 or float16."})},
    {"output_of_bool", onnx(kIn, {"out", {1, 3, 4, 4}, 9}), says({"tensor out of bool", "takes float32."}, {"tensor out of bool", "takes float32, float16, int32 or int64."})},
    {"output_of_int64", onnx(kIn, {"out", {1, 3, 4, 4}, 7}), says({"tensor out of int64"}, {"ONNX Runtime ", "int64"})},
    {"one_channel", onnx({"in", {1, 1, 4, 4}}, kOut), {"takes 1x1x4x4", "a grey picture", kNoPicture}},
    {"three_dimensions", onnx({"in", {3, 4, 4}}, kOut), {"takes 3x4x4", "wants one picture"}},
    {"two_pictures", onnx({"in", {2, 3, 4, 4}}, kOut), {"takes 2x3x4x4", "wants one picture"}},
    {"any_size", onnx({"in", {0, 3, 0, 0}}, kOut), {"any size (1x3x?x?)", "[in] of", ".modelinfo"}},
    {"huge", onnx({"in", {1, 3, 1 << 20, 1 << 20}}, kOut), {"more than 1073741824"}},
    {"described_input_of_another_name", onnx(kIn, kOut), {"has no input image", "it is in"}, tensor("image")},
    {"described_input_of_another_size", onnx(kIn, kOut), {"1x3x4x4", "says 1x3x8x8", "section [in]"}, tensor("in", {1, 3, 8, 8})},
    {"described_input_of_fewer_dimensions", onnx(kIn, kOut), {"says 3x4x4"}, tensor("in", {3, 4, 4})},
    {"described_input_of_int8", onnx(kIn, kOut), {"another type than float32"}, tensor("in", {}, TensorType::Int8)},
    {"described_output_of_another_name", onnx(kIn, kOut), {"has no output boxes", "it has out"}, {}, {tensor("boxes")}},
    {"described_output_of_another_size", onnx(kIn, kOut), {"says 1x3x4x5", "section [out]"}, {}, {tensor("out", {1, 3, 4, 5})}},
};

class CpuRefuses : public testing::TestWithParam<Row> {};

TEST_P(CpuRefuses, row)
{
  const ScratchFile file(".onnx", GetParam().content);
  Model model;
  model.path = file.path();
  model.input = GetParam().input;
  model.outputs = GetParam().outputs;
  const auto backend = open_model(model);
  ASSERT_FALSE(backend);
  expect_words(backend.error().message, GetParam().says);
  expect_words(backend.error().message, {file.path().c_str()});
}

INSTANTIATE_TEST_SUITE_P(Rows, CpuRefuses, testing::ValuesIn(kRows),
                         [](const auto &row) { return std::string(row.param.name); });

// What the file says of its output is wrong, or missing: ONNX Runtime sees for itself.
struct OutputRow {
  const char *name;
  OnnxValue output;
  Words opencv_says;
};

void PrintTo(const OutputRow &row, std::ostream *out) { *out << row.name; }

class CpuOutput : public testing::TestWithParam<OutputRow> {};

TEST_P(CpuOutput, row)
{
  const ScratchFile file(".onnx", onnx(kIn, GetParam().output));
  Model model;
  model.path = file.path();
  const auto backend = open_model(model);
  if (!kOrt) {
    ASSERT_FALSE(backend);
    expect_words(backend.error().message, GetParam().opencv_says);
    return;
  }
  ASSERT_TRUE(backend) << backend.error().message;
  EXPECT_EQ((*backend)->model().outputs[0].dims, (std::vector<std::size_t>{1, 3, 4, 4}));
}

const OutputRow kOutputRows[] = {
    {"of_another_size", {"out", {1, 3, 4, 9}}, {"gives 1x3x4x4 elements", "1x3x4x9"}},
    {"without_type", {"out", {}, 0}, {"tensor out of an unknown type", "takes float32."}},
};

INSTANTIATE_TEST_SUITE_P(Rows, CpuOutput, testing::ValuesIn(kOutputRows),
                         [](const auto &row) { return std::string(row.param.name); });

TEST(CpuBackendBad, missing_file)
{
  Model model;
  model.path = "/nonexistent/model.onnx";
  const auto backend = open_model(model);
  ASSERT_FALSE(backend);
  expect_words(backend.error().message, {"/nonexistent/model.onnx cannot be read: ENOENT"});
  EXPECT_EQ(backend.error().sys_errno, ENOENT);
}

// BlazeFace, cut after each of these many bytes: 0 is an empty file, and 414862 the whole one.
class CpuTruncated : public testing::TestWithParam<std::size_t> {};

TEST_P(CpuTruncated, row)
{
  const std::string whole = content_of(data_file("blazeface-short-128.onnx"));
  ASSERT_EQ(whole.size(), 414862U);
  const ScratchFile file(".onnx", whole.substr(0, GetParam()));
  Model model;
  model.path = file.path();
  const auto backend = open_model(model);
  ASSERT_FALSE(backend);
  expect_words(backend.error().message, {file.path().c_str(), kCut});
}

INSTANTIATE_TEST_SUITE_P(Bytes, CpuTruncated,
                         testing::Values(1, 5, 100, 4096, 100000, 207431, 400000, 414855, 414861));

// What the description leaves out comes from the network, and the other way round.
struct GoodRow {
  const char *name;
  std::string content;
  std::vector<std::size_t> described, input, output;
  gstdrm::metis::TensorLayout layout;
};

void PrintTo(const GoodRow &row, std::ostream *out) { *out << row.name; }

using Dims = std::vector<std::size_t>;
constexpr auto kNchw = gstdrm::metis::TensorLayout::Nchw;
constexpr auto kNhwc = gstdrm::metis::TensorLayout::Nhwc;

std::string nhwc(const OnnxValue &in)
{
  return OnnxModel{{{"Transpose", {"in"}, {"planes"}, onnx_ints("perm", {0, 3, 1, 2})},
                    {"Relu", {"planes"}, {"out"}}},
                   {in},
                   {{"out", {}}}}
      .file();
}

const GoodRow kGoodRows[] = {
    {"fixed", onnx(kIn, kOut), {}, {1, 3, 4, 4}, {1, 3, 4, 4}, kNchw},
    {"fixed_and_described", onnx(kIn, kOut), {1, 3, 0, 4}, {1, 3, 4, 4}, {1, 3, 4, 4}, kNchw},
    {"variable_number_of_pictures", onnx({"in", {0, 3, 4, 4}}, {"out", {0, 3, 4, 4}}), {}, {1, 3, 4, 4}, {1, 3, 4, 4}, kNchw},
    {"variable_size", onnx({"in", {1, 3, 0, 0}}, {"out", {1, 3, 0, 0}}), {1, 3, 6, 8}, {1, 3, 6, 8}, {1, 3, 6, 8}, kNchw},
    {"no_shape", onnx({"in", {}}, {"out", {}}), {1, 3, 2, 5}, {1, 3, 2, 5}, {1, 3, 2, 5}, kNchw},
    {"nhwc", nhwc({"in", {1, 4, 5, 3}}), {}, {1, 4, 5, 3}, {1, 3, 4, 5}, kNhwc},
};

class CpuCompletes : public testing::TestWithParam<GoodRow> {};

TEST_P(CpuCompletes, row)
{
  const ScratchFile file(".onnx", GetParam().content);
  Model model;
  model.path = file.path();
  if (!GetParam().described.empty())
    model.input = tensor("in", GetParam().described);
  const auto backend = open_model(model);
  ASSERT_TRUE(backend) << backend.error().message;
  const Model &made = (*backend)->model();
  EXPECT_EQ(made.input.name, "in");
  EXPECT_EQ(made.input.dims, GetParam().input);
  EXPECT_EQ(made.image.layout, GetParam().layout);
  ASSERT_EQ(made.outputs.size(), 1U);
  EXPECT_EQ(made.outputs[0].dims, GetParam().output);
  // Relu, and the order of the values
  std::vector<float> input(made.input.n_elements());
  for (std::size_t i = 0; i < input.size(); i++)
    input[i] = static_cast<float>(i) - 5;
  const auto values = run(**backend, input);
  ASSERT_TRUE(values) << values.error().message;
  const std::size_t plane = input.size() / 3;
  for (std::size_t i = 0; i < input.size(); i++) {
    const std::size_t from = GetParam().layout == kNchw ? i : i % plane * 3 + i / plane;
    ASSERT_EQ((*values)[0][i], std::max(0.0F, input[from])) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, CpuCompletes, testing::ValuesIn(kGoodRows),
                         [](const auto &row) { return std::string(row.param.name); });

// Parts that are none.
TEST(CpuPart, missing)
{
  const auto backend = gstdrm::metis::open_cpu_part("/nonexistent/part.so.1", {});
  ASSERT_FALSE(backend);
  expect_words(backend.error().message, {"/nonexistent/part.so.1 cannot be loaded", "libonnxruntime", "libopencv-dnn"});
}

// In the folder gst-drm where both are installed, and beside the plugin in a build folder.
TEST(CpuPart, found)
{
  namespace fs = std::filesystem;
  const fs::path folder = testing::TempDir() + "/gst-drm-part-" + std::to_string(::getpid());
  fs::create_directories(folder / "gst-drm");
  EXPECT_FALSE(gstdrm::metis::find_cpu_part(folder));
  for (const char *name : {"libgstmetiscpu.so.1", "gst-drm/libgstmetiscpu.so.1"}) {
    fs::create_symlink(GST_DRM_METIS_CPU_PART, folder / name);
    const auto part = gstdrm::metis::find_cpu_part(folder);
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_EQ(*part, folder / name);
  }
  fs::remove_all(folder);
}

TEST(CpuPart, not_beside_this_program)
{
  const auto backend = gstdrm::metis::open_cpu({});
  ASSERT_FALSE(backend);
  expect_words(backend.error().message, {"There is no CPU back end", "gst-drm/libgstmetiscpu.so.1",
                                         "-Dmetis-cpu=enabled", "libopencv-dnn"});
}

TEST(CpuPart, no_library)
{
  const ScratchFile file(".so.1", "text");
  const auto backend = gstdrm::metis::open_cpu_part(file.path(), {});
  ASSERT_FALSE(backend);
  expect_words(backend.error().message, {file.path().c_str(), "cannot be loaded"});
}

TEST(CpuPart, library_of_another_kind)
{
  const auto backend = gstdrm::metis::open_cpu_part("libpng16.so.16", {});
  ASSERT_FALSE(backend);
  expect_words(backend.error().message, {"libpng16.so.16 is no CPU back end", "gst_drm_metis_cpu_open"});
}

TEST(CpuPart, refuses_another_version)
{
  void *part = ::dlopen(GST_DRM_METIS_CPU_PART, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  ASSERT_TRUE(part) << ::dlerror();
  const auto open = reinterpret_cast<gstdrm::metis::CpuPartOpen>(
      ::dlsym(part, gstdrm::metis::kCpuPartOpenName));
  ASSERT_TRUE(open);
  gstdrm::metis::CpuPartCall call; // its pointers are null: none of them is read
  call.version++;
  EXPECT_FALSE(open(&call));
  call.version--;
  call.sizes++;
  EXPECT_FALSE(open(&call));
}

} // namespace
