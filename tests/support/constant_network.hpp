// SPDX-License-Identifier: LGPL-2.1-or-later
// Networks whose results a test decides, in files that go with it.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <glib.h>

#include "unit/metis/onnx_writer.hpp"

namespace gstdrm::test {

// A file that goes with the test.
class ScratchFile {
public:
  ScratchFile(const std::string &ending, const std::string &content)
      : path_(std::string(g_get_tmp_dir()) + "/gst-drm-test-" + std::to_string(getpid()) + ending)
  {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ScratchFile(const ScratchFile &) = delete;
  ScratchFile &operator=(const ScratchFile &) = delete;
  ~ScratchFile() { unlink(path_.c_str()); }
  [[nodiscard]] const std::string &path() const { return path_; }

private:
  std::string path_;
};

// A network that gives the same values for every picture: convolutions with weights of 0, and a
// bias.
class ConstantNetwork {
public:
  explicit ConstantNetwork(std::int64_t height = 8, std::int64_t width = 8)
  {
    model_.inputs = {{"in", {1, 3, height, width}}};
    model_.nodes = {{"GlobalAveragePool", {"in"}, {"mean"}}};
  }
  void give(const std::string &name, const std::vector<std::int64_t> &dims,
            const std::vector<float> &values)
  {
    const auto count = static_cast<std::int64_t>(values.size());
    const auto rank = static_cast<std::int64_t>(dims.size());
    model_.weights.push_back(
        onnx_weights(name + "_weights", {count, 3, 1, 1}, std::vector<float>(values.size() * 3)));
    model_.weights.push_back(onnx_weights(name + "_bias", {count}, values));
    model_.weights.push_back(onnx_weights(name + "_shape", {rank}, dims));
    model_.nodes.push_back({"Conv",
                            {"mean", name + "_weights", name + "_bias"},
                            {name + "_flat"},
                            onnx_ints("kernel_shape", {1, 1})});
    model_.nodes.push_back({"Reshape", {name + "_flat", name + "_shape"}, {name}});
    model_.outputs.push_back({name, dims});
  }
  [[nodiscard]] std::string file() const { return model_.file(); }

private:
  OnnxModel model_;
};

} // namespace gstdrm::test
