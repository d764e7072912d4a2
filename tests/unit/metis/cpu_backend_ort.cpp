// SPDX-License-Identifier: LGPL-2.1-or-later
// What only ONNX Runtime does: weights in other files, tensors of other types than float32, and a log that is ours.
#include <iostream>
#include <mutex>
#include <ostream>

#include <gtest/gtest.h>

#include "cpu_backend_run.hpp"
#include "gst/drm/core/log.hpp"
#include "onnx_writer.hpp"

namespace {

using gstdrm::metis::Model;
using gstdrm::test::expect_words;
using gstdrm::test::onnx_bytes;
using gstdrm::test::onnx_external;
using gstdrm::test::onnx_number;
using gstdrm::test::OnnxModel;
using gstdrm::test::OnnxValue;
using gstdrm::test::open_model;
using gstdrm::test::run;
using gstdrm::test::ScratchFile;

constexpr int kFloat = 1, kInt32 = 6, kInt64 = 7, kFloat16 = 10;

const OnnxValue kIn{"in", {1, 3, 4, 4}};
const OnnxValue kOut{"out", {1, 3, 4, 4}};

Model model_of(const ScratchFile &file)
{
  Model model;
  model.path = file.path();
  return model;
}

std::vector<float> counted(std::size_t count)
{
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; i++)
    values[i] = static_cast<float>(i) - 5;
  return values;
}

// A network that adds 2.5, which is 8 bytes into a file of 12.
std::string adds(const std::string &file, const std::string &offset, const std::string &length)
{
  return OnnxModel{{{"Add", {"in", "w"}, {"out"}}}, {kIn}, {kOut}, 10,
                   {onnx_number(1, 1) + onnx_number(2, 1) + onnx_bytes(8, "w") + onnx_external(file, offset, length)}}
      .file();
}

std::string floats(const std::vector<float> &values)
{
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float)};
}

TEST(CpuOtherFiles, weights_beside_the_model)
{
  const ScratchFile weights(".data", floats({0, 1, 2.5F}));
  const ScratchFile file(".onnx", adds(weights.path().substr(weights.path().rfind('/') + 1), "8", "4"));
  const auto backend = open_model(model_of(file));
  ASSERT_TRUE(backend) << backend.error().message;
  const auto values = run(**backend, counted(48));
  ASSERT_TRUE(values) << values.error().message;
  for (std::size_t i = 0; i < 48; i++)
    ASSERT_EQ((*values)[0][i], static_cast<float>(i) - 2.5F) << "element " << i;
}

struct ShortRow {
  const char *name, *offset, *length;
  std::vector<const char *> says;
};

void PrintTo(const ShortRow &row, std::ostream *out) { *out << row.name; }

class CpuShortFile : public testing::TestWithParam<ShortRow> {};

TEST_P(CpuShortFile, row)
{
  const ScratchFile weights(".data", floats({0, 1, 2.5F}));
  const std::string name = weights.path().substr(weights.path().rfind('/') + 1);
  const ScratchFile file(".onnx", adds(name, GetParam().offset, GetParam().length));
  const auto backend = open_model(model_of(file));
  ASSERT_FALSE(backend);
  expect_words(backend.error().message, GetParam().says);
}

const ShortRow kShortRows[] = {
    {"one_byte_too_short", "9", "4", {".data, which has 12 bytes", "4 bytes from byte 9 on"}},
    {"offset_behind_the_end", "13", "", {".data, which has 12 bytes", "0 bytes from byte 13 on"}},
    {"length_that_overflows", "8", "18446744073709551612", {".data, which has 12 bytes"}},
    {"length_that_is_none", "8", "-4", {".data, which has 12 bytes"}},
    {"offset_that_is_none", "99999999999999999999", "4", {".data, which has 12 bytes"}},
    {"without_length", "12", "", {"ONNX Runtime "}}, // of a length that the dimensions tell
};

INSTANTIATE_TEST_SUITE_P(Rows, CpuShortFile, testing::ValuesIn(kShortRows),
                         [](const auto &row) { return std::string(row.param.name); });

// Networks that only change the type, from the first to the second.
struct TypeRow {
  const char *name;
  int from, to;
};

void PrintTo(const TypeRow &row, std::ostream *out) { *out << row.name; }

class CpuTypes : public testing::TestWithParam<TypeRow> {};

TEST_P(CpuTypes, row)
{
  const auto [name, from, to] = GetParam();
  const std::string attribute =
      onnx_bytes(5, onnx_bytes(1, "to") + onnx_number(3, static_cast<std::uint64_t>(to)) + onnx_number(20, 2));
  const ScratchFile file(".onnx", OnnxModel{{{"Cast", {"in"}, {"out"}, attribute}},
                                            {{"in", {1, 3, 4, 4}, from}},
                                            {{"out", {1, 3, 4, 4}, to}}}
                                      .file());
  const auto backend = open_model(model_of(file));
  ASSERT_TRUE(backend) << backend.error().message;
  EXPECT_EQ((*backend)->model().outputs[0].type, gstdrm::metis::TensorType::Float32);
  EXPECT_EQ((*backend)->model().outputs[0].size_bytes(), 48 * sizeof(float));
  for (int i = 0; i < 2; i++) { // with the same memory
    const auto values = run(**backend, counted(48));
    ASSERT_TRUE(values) << values.error().message;
    EXPECT_EQ((*values)[0], counted(48));
  }
}

const TypeRow kTypeRows[] = {
    {"float16_to_float32", kFloat16, kFloat},  {"float32_to_float16", kFloat, kFloat16},
    {"float16_to_float16", kFloat16, kFloat16}, {"float32_to_int32", kFloat, kInt32},
    {"float32_to_int64", kFloat, kInt64},       {"float16_to_int64", kFloat16, kInt64},
    {"float32_to_float32", kFloat, kFloat},
};

INSTANTIATE_TEST_SUITE_P(Rows, CpuTypes, testing::ValuesIn(kTypeRows),
                         [](const auto &row) { return std::string(row.param.name); });

// The lines of the log while a test has it.
class Lines {
public:
  Lines() { gstdrm::set_log_sink(&kSink); }
  Lines(const Lines &) = delete;
  Lines &operator=(const Lines &) = delete;
  ~Lines() { gstdrm::set_log_sink(nullptr); }

  static bool have(const std::string &words)
  {
    const std::lock_guard guard(lock_);
    return text_.find(words) != std::string::npos;
  }

private:
  static inline std::mutex lock_;
  static inline std::string text_;
  static constexpr int kMost = static_cast<int>(gstdrm::LogLevel::Log);
  static constexpr gstdrm::LogSink kSink{
      &kMost, [](gstdrm::LogLevel) noexcept { return true; },
      [](gstdrm::LogLevel, const char *, const char *, int, const char *text) noexcept {
        const std::lock_guard guard(lock_);
        text_ += std::string(text) + "\n";
      }};
};

constexpr const char *kLog = "onnxruntime: "; // the start of the runtime's own lines

// Opens a network that runs, and one that does not. Ends the process with the number of what the log lacks.
[[noreturn]] void open_both()
{
  const Lines lines;
  const ScratchFile good(".onnx", OnnxModel{{{"Relu", {"in"}, {"out"}}}, {kIn}, {kOut}}.file());
  if (!open_model(model_of(good)))
    ::_exit(10);
  const ScratchFile bad(".onnx", OnnxModel{{{"Nonsense", {"in"}, {"out"}}}, {kIn}, {kOut}}.file());
  if (open_model(model_of(bad)))
    ::_exit(11);
  std::cerr << "others may\n";
  ::_exit((Lines::have(" runs by ONNX Runtime ") ? 0 : 1) + (Lines::have(", 1 threads") ? 0 : 2) +
          (Lines::have(kLog) ? 0 : 4));
}

// The runtime writes nothing itself, in a process that has not used it before.
TEST(CpuLogDeathTest, goes_to_ours)
{
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(open_both(), testing::ExitedWithCode(0), testing::Eq("others may\n"));
}

} // namespace
