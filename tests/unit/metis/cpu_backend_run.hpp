// SPDX-License-Identifier: LGPL-2.1-or-later
// The CPU back end as a test opens and runs it.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "gst/metis/engine/cpu/cpu_plugin.hpp"

namespace gstdrm::test {

// The runtime of the part: ONNX Runtime, or OpenCV's dnn.
inline constexpr bool kOrt = GST_DRM_METIS_CPU_ORT;

inline std::string data_file(const std::string &name)
{
  const char *folder = std::getenv("GST_DRM_TEST_DATA");
  return std::string(folder ? folder : "tests/data") + "/models/" + name;
}

// A file that goes with the test.
class ScratchFile {
public:
  ScratchFile(const std::string &ending, const std::string &content)
      : path_(testing::TempDir() + "/gst-drm-" + std::to_string(::getpid()) + "-" +
              std::to_string(count_++) + ending)
  {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ScratchFile(const ScratchFile &) = delete;
  ScratchFile &operator=(const ScratchFile &) = delete;
  ~ScratchFile() { ::unlink(path_.c_str()); }
  [[nodiscard]] const std::string &path() const { return path_; }

private:
  static inline int count_ = 0;
  std::string path_;
};

inline std::string content_of(const std::string &path)
{
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline Result<std::unique_ptr<metis::Backend>> open_model(const metis::Model &model,
                                                          unsigned threads = 1)
{
  metis::BackendOptions options;
  options.model = model;
  options.cpu_threads = threads;
  options.max_in_flight = 2;
  options.timeout = std::chrono::minutes(1);
  return metis::open_cpu_part(GST_DRM_METIS_CPU_PART, options);
}

// All of the words are in the message, which is one line.
inline void expect_words(const std::string &message, const std::vector<const char *> &words)
{
  for (const char *word : words)
    EXPECT_NE(message.find(word), std::string::npos) << "\"" << word << "\" in: " << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

// The values of the outputs.
using Values = std::vector<std::vector<float>>;

inline Result<Values> run(metis::Backend &backend, std::vector<float> input)
{
  Values values;
  std::vector<metis::TensorView> views;
  for (const metis::TensorInfo &output : backend.model().outputs) {
    auto &one = values.emplace_back(output.n_elements());
    views.push_back({-1, reinterpret_cast<std::byte *>(one.data()), one.size() * sizeof(float)});
  }
  metis::Request request;
  request.input = {-1, reinterpret_cast<std::byte *>(input.data()), input.size() * sizeof(float)};
  request.outputs = views;
  const auto submitted = backend.submit(request);
  if (!submitted)
    return submitted.error();
  pollfd done{submitted->done, POLLIN, 0};
  EXPECT_EQ(::poll(&done, 1, 60000), 1) << "the request was not done";
  const auto finished = backend.finish(submitted->id);
  if (!finished)
    return finished.error();
  return values;
}

} // namespace gstdrm::test
