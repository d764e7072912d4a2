// SPDX-License-Identifier: LGPL-2.1-or-later
// Opening the axruntime back end, and why it fails.
#include "axruntime_fixture.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include <stdlib.h>

namespace {

using namespace gstdrm;
using namespace gstdrm::test;

// A file with that text, gone at the end.
class ScratchFile {
public:
  ScratchFile(const std::string &name, const std::string &text)
      : path_(testing::TempDir() + "gst-drm-" + std::to_string(::getpid()) + "-" + name)
  {
    std::ofstream(path_) << text;
  }
  ~ScratchFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string &path() const { return path_; }

private:
  const std::string path_;
};

TEST_F(Axruntime, completes_the_description)
{
  BackendOptions options = options_of("small");
  options.model.outputs.resize(2);
  options.model.outputs[0].name = "classes"; // by name, in another order
  options.model.outputs[0].id = "the-classes";
  options.model.outputs[1].id = "by-place";
  options.model.outputs[1].dims = {1, 0, 4, 3};
  auto backend = open_axruntime(options);
  ASSERT_TRUE(backend) << backend.error().message;
  EXPECT_STREQ((*backend)->name(), "axruntime");
  EXPECT_EQ((*backend)->takes(), Backend::Takes::Tensors);
  const Model &model = (*backend)->model();
  EXPECT_EQ(model.image.layout, TensorLayout::Nhwc);
  EXPECT_EQ(model.input.name, "image");
  EXPECT_EQ(model.input.type, TensorType::Int8);
  EXPECT_EQ(model.input.dims, (std::vector<std::size_t>{1, 10, 12, 4}));
  EXPECT_EQ(model.input.padding, (std::vector<Padding>{{0, 0}, {1, 1}, {1, 3}, {0, 1}}));
  EXPECT_EQ(model.input.quantisation, (Quantisation{1.0 / 255, -128}));
  ASSERT_EQ(model.outputs.size(), 2U);
  EXPECT_EQ(model.outputs[0].name, "boxes");
  EXPECT_EQ(model.outputs[0].id, "");
  EXPECT_EQ(model.outputs[0].padding, (std::vector<Padding>{{0, 0}, {0, 0}, {0, 1}, {0, 2}}));
  EXPECT_EQ(model.outputs[1].name, "classes");
  EXPECT_EQ(model.outputs[1].id, "the-classes");
  EXPECT_EQ(model.outputs[1].quantisation, (Quantisation{0.125, -5}));
}

TEST_F(Axruntime, a_larger_struct_is_received)
{
  use(library_of("LARGER_INFO"));
  auto backend = open_axruntime(options_of("small"));
  ASSERT_TRUE(backend) << backend.error().message;
  EXPECT_EQ((*backend)->model().input.dims, (std::vector<std::size_t>{1, 10, 12, 4}));
  EXPECT_EQ((*backend)->model().input.quantisation, (Quantisation{1.0 / 255, -128}));
}

struct LibraryRow {
  const char *name;
  std::string library;
  ErrorCode code;
  int sys_errno;
  std::vector<std::string> parts;
};
class Libraries : public Axruntime, public testing::WithParamInterface<LibraryRow> {};

TEST_P(Libraries, are_refused)
{
  use(GetParam().library);
  const auto backend = open_axruntime(options_of("small"));
  ASSERT_FALSE(backend);
  expect_error(backend.error(), GetParam().code, GetParam().sys_errno, GetParam().parts);
}

const LibraryRow kLibraries[] = {
    {"none_there", "/nowhere/libaxruntime.so", ErrorCode::Device, ENOENT, {"/nowhere/libaxruntime.so", "GST_DRM_AXRUNTIME"}},
    {"another_library", "libjson-c.so.5", ErrorCode::Unsupported, ENOSYS, {"libjson-c.so.5", "axr_api_version, axr_create_context", "axr_run_model_instance"}},
    {"one_function_is_missing", library_of("WITHOUT_RUN"), ErrorCode::Unsupported, ENOSYS, {"has no axr_run_model_instance. "}},
    {"another_struct", library_of("OTHER_INFO"), ErrorCode::Unsupported, EPROTO, {"input 0", "axrTensorInfo"}},
};
INSTANTIATE_TEST_SUITE_P(, Libraries, testing::ValuesIn(kLibraries), [](const auto &row) { return row.param.name; });

TEST_F(Axruntime, no_runtime_is_installed)
{
  ::unsetenv(axr::kLibraryVariable);
  const auto backend = open_axruntime(options_of("small"));
  if (backend)
    GTEST_SKIP() << "a libaxruntime.so is installed";
  expect_error(backend.error(), ErrorCode::Device, ENOENT, {"libaxruntime.so", "Voyager SDK", "GST_DRM_AXRUNTIME"});
}

TEST(AxruntimeLibraries, the_newest_that_is_installed_first)
{
  const std::string root = testing::TempDir() + "gst-drm-axelera-" + std::to_string(::getpid());
  for (const char *name : {"runtime-1.6.0-1", "runtime-1.10.0-1", "runtime-1.7.0-1", "voyager-sdk"})
    std::filesystem::create_directories(std::filesystem::path(root) / name);
  EXPECT_EQ(axr::library_names(root), (std::vector<std::string>{
                                          "libaxruntime.so",
                                          root + "/runtime-1.10.0-1/lib/libaxruntime.so",
                                          root + "/runtime-1.7.0-1/lib/libaxruntime.so",
                                          root + "/runtime-1.6.0-1/lib/libaxruntime.so",
                                      }));
  std::filesystem::remove_all(root);
  EXPECT_EQ(axr::library_names(root), (std::vector<std::string>{"libaxruntime.so"}));
}

struct FileRow {
  const char *name;
  const char *file; // its name decides for .axm
  const char *text;
  ErrorCode code;
  int sys_errno;
  std::vector<std::string> parts;
};
class ModelFiles : public Axruntime, public testing::WithParamInterface<FileRow> {};

TEST_P(ModelFiles, are_refused)
{
  const ScratchFile file(GetParam().file, GetParam().text);
  BackendOptions options = options_of("small");
  options.model.path = file.path();
  const auto backend = open_axruntime(options);
  ASSERT_FALSE(backend);
  expect_error(backend.error(), GetParam().code, GetParam().sys_errno, GetParam().parts);
  expect_error(backend.error(), GetParam().code, GetParam().sys_errno, {file.path()});
}

const FileRow kFiles[] = {
    {"empty", "model.json", "", ErrorCode::Format, EINVAL, {"after 0 bytes", "not complete"}},
    {"truncated", "model.json", R"({"version": "gst-drm-te)", ErrorCode::Format, EINVAL, {"after 23 bytes", "not complete"}},
    {"truncated_between_values", "model.json", R"({"version": 1,)", ErrorCode::Format, EINVAL, {"not complete"}},
    {"no_json", "model.json", "\x7f" "ELF", ErrorCode::Format, EINVAL, {"no JSON", "at byte 0 of 4"}},
    {"an_array", "model.json", "[1, 2]", ErrorCode::Format, EINVAL, {"no object"}},
    {"nested_without_end", "model.json", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", ErrorCode::Format, EINVAL, {"no JSON"}},
    {"no_version", "model.json", "{}", ErrorCode::Device, EIO, {"model version none", "libaxruntime-documented.so", "other versions"}},
    {"no_inputs", "model.json", R"({"version": "gst-drm-test-1"})", ErrorCode::Unsupported, ENOTSUP, {"0 inputs and 0 outputs"}},
    {"an_archive_is_the_runtimes_to_read", "model.axm", "PK", ErrorCode::Device, EIO, {"cannot parse the model"}},
};
INSTANTIATE_TEST_SUITE_P(, ModelFiles, testing::ValuesIn(kFiles), [](const auto &row) { return row.param.name; });

struct OpenRow {
  const char *name;
  const char *model;
  const char *faults;
  const char *device;
  ErrorCode code;
  int sys_errno;
  std::vector<std::string> parts;
};
class Opening : public Axruntime, public testing::WithParamInterface<OpenRow> {};

TEST_P(Opening, fails)
{
  faults(GetParam().faults);
  BackendOptions options = options_of(GetParam().model);
  options.device = GetParam().device;
  options.dmabuf_input = true;
  options.dmabuf_output = true;
  const Warnings warnings;
  const auto backend = open_axruntime(options);
  ASSERT_FALSE(backend);
  expect_error(backend.error(), GetParam().code, GetParam().sys_errno, GetParam().parts);
  EXPECT_TRUE(Warnings::lines().empty()) << Warnings::lines()[0];
}

const OpenRow kOpening[] = {
    {"no_model", "missing", "", "", ErrorCode::Device, ENOENT, {"axruntime-missing.json", "ENOENT"}},
    {"a_model_of_another_version", "other-version", "", "", ErrorCode::Device, EIO, {"gst-drm-test-0", "compiled for the runtime"}},
    {"interface_of_no_version", "small", "api-version=0", "", ErrorCode::Unsupported, ENOSYS, {"version 0"}},
    {"no_device", "small", "devices=", "", ErrorCode::Device, ENODEV, {"the first device", "no devices"}},
    {"no_device_of_that_name", "small", "devices=", "metis-0:1:0", ErrorCode::Device, ENODEV, {"metis-0:1:0", "no device at all (no devices)"}},
    {"another_device", "small", "devices=metis-0:3:0", "metis-0:1:0", ErrorCode::Device, ENODEV, {"\"metis-0:1:0\"", "finds metis-0:3:0"}},
    {"two_other_devices", "small", "devices=metis-0:3:0+metis-1:3:0", "metis-0:1:0", ErrorCode::Device, ENODEV, {"finds metis-0:3:0, metis-1:3:0"}},
    {"devices_that_cannot_be_told_apart", "small", "devices=npu0+npu1", "npu1", ErrorCode::Device, ENODEV, {"finds npu0 and 1 more"}},
    {"a_busy_device", "small", "connect=busy", "metis-0:1:0", ErrorCode::Device, EBUSY, {"device \"metis-0:1:0\"", "in use by root:1"}},
    {"a_silent_device", "small", "connect=lost", "", ErrorCode::Device, ENODEV, {"firmware does not answer"}},
    {"no_room_on_the_device", "small", "refuse-instance", "", ErrorCode::Device, EIO, {"out of device memory"}},
    {"two_inputs", "small", "inputs=2", "", ErrorCode::Unsupported, ENOTSUP, {"2 inputs and 2 outputs"}},
    {"no_outputs", "small", "outputs=0", "", ErrorCode::Unsupported, ENOTSUP, {"1 inputs and 0 outputs"}},
    {"outputs_without_number", "small", "outputs=1000000", "", ErrorCode::Unsupported, ENOTSUP, {"1000000 outputs"}},
    {"no_dimensions", "small", "tensor=n-dims-0", "", ErrorCode::Unsupported, EPROTO, {"input 0 0 dimensions"}},
    {"nine_dimensions", "small", "tensor=n-dims-9", "", ErrorCode::Unsupported, EPROTO, {"9 dimensions"}},
    {"an_empty_dimension", "small", "tensor=dim-0", "", ErrorCode::Unsupported, EPROTO, {"0 elements in dimension 1"}},
    {"an_endless_dimension", "small", "tensor=dim-huge", "", ErrorCode::Unsupported, EPROTO, {"9223372036854775807 elements in dimension 1"}},
    {"four_pictures_at_once", "small", "tensor=batch", "", ErrorCode::Unsupported, ENOTSUP, {"4x10x12x4", "4 pictures at once"}},
    {"four_bits", "small", "tensor=bits", "", ErrorCode::Unsupported, ENOTSUP, {"4 bits per element"}},
    {"no_type", "small", "tensor=type", "", ErrorCode::Unsupported, ENOTSUP, {"of type 9"}},
    {"nothing_but_padding", "small", "tensor=padding", "", ErrorCode::Unsupported, EPROTO, {"padding of 10 and 1 elements in dimension 1 of 10"}},
    {"padding_from_both_sides", "small", "tensor=padding-all", "", ErrorCode::Unsupported, EPROTO, {"padding of 9 and 1 elements in dimension 1 of 10"}},
    {"endless_padding", "small", "tensor=padding-huge", "", ErrorCode::Unsupported, EPROTO, {"padding of 1 and 18446744073709551615"}},
    {"a_name_without_an_end", "small", "tensor=name", "", ErrorCode::Unsupported, EPROTO, {"a name without an end"}},
    {"a_scale_of_zero", "small", "tensor=scale-0", "", ErrorCode::Unsupported, EPROTO, {"a scale of 0.0"}},
    {"a_scale_that_is_no_number", "small", "tensor=scale-nan", "", ErrorCode::Unsupported, EPROTO, {"a scale of nan"}},
    {"a_zero_point_of_no_int8", "small", "tensor=zero-point", "", ErrorCode::Unsupported, EPROTO, {"a zero point of 200"}},
    {"two_sizes", "small", "tensor=size", "", ErrorCode::Unsupported, EPROTO, {"481 bytes, and dimensions of 480 bytes"}},
};
INSTANTIATE_TEST_SUITE_P(, Opening, testing::ValuesIn(kOpening), [](const auto &row) { return row.param.name; });

struct DescriptionRow {
  const char *name;
  std::vector<std::size_t> input;
  std::vector<std::vector<std::size_t>> outputs;
  bool fits;
  const char *part;
};
class Descriptions : public Axruntime, public testing::WithParamInterface<DescriptionRow> {};

TEST_P(Descriptions, are_compared)
{
  BackendOptions options = options_of("small");
  options.model.input.dims = GetParam().input;
  for (const std::vector<std::size_t> &dims : GetParam().outputs)
    options.model.outputs.emplace_back().dims = dims;
  const auto backend = open_axruntime(options);
  ASSERT_EQ(static_cast<bool>(backend), GetParam().fits);
  if (!backend)
    expect_error(backend.error(), ErrorCode::Conflict, EINVAL, {GetParam().part});
}

const DescriptionRow kDescriptions[] = {
    {"nothing_said", {}, {}, true, ""},
    {"with_padding", {1, 10, 12, 4}, {{1, 4, 4, 8}, {1, 4, 4, 3}}, true, ""},
    {"without_padding", {1, 8, 8, 3}, {{1, 4, 3, 6}, {}}, true, ""},
    {"sizes_left_out", {1, 0, 0, 3}, {{0, 0, 0, 6}, {}}, true, ""},
    {"another_input", {1, 16, 16, 3}, {}, false, "has 1x10x12x4 elements, and its description says 1x16x16x3"},
    {"fewer_dimensions", {8, 8, 3}, {}, false, "description says 8x8x3"},
    {"another_output", {}, {{}, {1, 4, 4, 80}}, false, "\"classes\""},
    {"one_output", {}, {{}}, false, "has 2 outputs, and its description says 1"},
    {"three_outputs", {}, {{}, {}, {}}, false, "has 2 outputs, and its description says 3"},
};
INSTANTIATE_TEST_SUITE_P(, Descriptions, testing::ValuesIn(kDescriptions), [](const auto &row) { return row.param.name; });

struct DeviceRow {
  const char *name;
  const char *faults;
  const char *wanted;
  const char *connected;
};
class Devices : public Axruntime, public testing::WithParamInterface<DeviceRow> {};

TEST_P(Devices, are_found_by_name)
{
  faults(GetParam().faults);
  BackendOptions options = options_of("small");
  options.device = GetParam().wanted;
  const auto backend = open_axruntime(options);
  ASSERT_TRUE(backend) << backend.error().message;
  auto *connected = test_function<const char *()>("axr_test_device");
  ASSERT_TRUE(connected);
  EXPECT_STREQ(connected(), GetParam().connected);
}

const DeviceRow kDevices[] = {
    {"the_first_one", "devices=metis-0:3:0+metis-0:1:0", "", "metis-0:3:0"},
    {"the_only_one", "devices=metis-0:1:0", "metis-0:1:0", "metis-0:1:0"},
    {"with_a_zero", "devices=metis-0:1:0", "metis-0:01:0", "metis-0:1:0"},
    {"with_a_long_domain", "devices=metis-4:1:0", "metis-0004:01:00", "metis-4:1:0"},
    {"the_third_one", "devices=metis-0:1:0+metis-0:2:0+metis-0:3:0", "metis-0:3:0", "metis-0:3:0"},
    {"the_third_one_of_a_short_record", "device-record=792,devices=metis-0:1:0+metis-0:2:0+metis-0:a:0", "metis-0:A:0", "metis-0:a:0"},
    // of these a read at the larger distance would end behind the array, which ASan sees
    {"the_second_one_of_two_short_records", "device-record=792,devices=metis-0:1:0+metis-0:2:0", "metis-0:2:0", "metis-0:2:0"},
    {"a_name_of_another_kind", "devices=npu0", "npu0", "npu0"},
};
INSTANTIATE_TEST_SUITE_P(, Devices, testing::ValuesIn(kDevices), [](const auto &row) { return row.param.name; });

struct FallbackRow {
  const char *name;
  const char *faults;
  bool input, output;           // asked for
  bool has_input, has_output;   // of what is loaded
  std::vector<const char *> warnings;
};
class Fallbacks : public Axruntime, public testing::WithParamInterface<FallbackRow> {};

TEST_P(Fallbacks, are_said_once)
{
  faults(GetParam().faults);
  BackendOptions options = options_of("small");
  options.dmabuf_input = GetParam().input;
  options.dmabuf_output = GetParam().output;
  const Warnings warnings;
  const auto backend = open_axruntime(options);
  ASSERT_TRUE(backend) << backend.error().message;
  EXPECT_EQ((*backend)->takes_dmabuf_input(), GetParam().has_input);
  EXPECT_EQ((*backend)->takes_dmabuf_output(), GetParam().has_output);
  ASSERT_EQ(Warnings::lines().size(), GetParam().warnings.size());
  for (std::size_t n = 0; n < GetParam().warnings.size(); n++)
    EXPECT_NE(Warnings::lines()[n].find(GetParam().warnings[n]), std::string::npos) << Warnings::lines()[n];
  const std::string expected = std::string("\ninput_dmabuf=") + (GetParam().has_input ? "1" : "0") + "\noutput_dmabuf=" +
                               (GetParam().has_output ? "1" : "0") + "\nnum_sub_devices=1\naipu_cores=1\ndouble_buffer=0\n";
  auto *properties = test_function<const char *()>("axr_test_properties");
  ASSERT_TRUE(properties);
  EXPECT_EQ(properties(), expected);
}

const FallbackRow kFallbacks[] = {
    {"both_taken", "", true, true, true, true, {}},
    {"none_wanted", "refuse-input-dmabuf,refuse-output-dmabuf", false, false, false, false, {}},
    {"input_alone_wanted", "", true, false, true, false, {}},
    {"output_alone_wanted", "", false, true, false, true, {}},
    {"output_refused", "refuse-output-dmabuf", true, true, true, false, {"without output_dmabuf=1 only (dmabuf is not supported here)"}},
    {"output_alone_refused", "refuse-output-dmabuf", false, true, false, false, {"without output_dmabuf=1"}},
    {"input_alone_refused", "refuse-input-dmabuf", true, false, false, false, {"without input_dmabuf=1"}},
    {"both_refused", "refuse-input-dmabuf,refuse-output-dmabuf", true, true, false, false, {"without output_dmabuf=1", "without input_dmabuf=1"}},
};
INSTANTIATE_TEST_SUITE_P(, Fallbacks, testing::ValuesIn(kFallbacks), [](const auto &row) { return row.param.name; });

// The call keeps its thread; another opening waits for it as long as its own limit.
TEST_F(Axruntime, opening_has_a_limit)
{
  BackendOptions options = options_of("small");
  ASSERT_TRUE(open_axruntime(options)) << "the library has to be there for the release";
  faults("hang-load");
  options.open_timeout = std::chrono::milliseconds(200);
  const auto late = open_axruntime(options);
  ASSERT_FALSE(late);
  expect_error(late.error(), ErrorCode::Sync, ETIMEDOUT, {"took longer than 200 ms", "open-timeout"});
  faults("");
  const auto behind = open_axruntime(options);
  ASSERT_FALSE(behind);
  expect_error(behind.error(), ErrorCode::Sync, ETIMEDOUT, {"took longer"});
  test_function<void()>("axr_test_release")();
  options.open_timeout = std::chrono::minutes(1);
  EXPECT_TRUE(open_axruntime(options)) << "all openings go on";
  while (test_function<int()>("axr_test_alive")() > 0)
    std::this_thread::yield();
}

} // namespace
