// SPDX-License-Identifier: LGPL-2.1-or-later
// An ONNX file's inputs and outputs, read before a runtime reads the network: OpenCV returns
// neither names nor dimensions of its inputs and crashes on some bad files, and ONNX Runtime opens
// whatever other files the network names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "engine/model.hpp"

namespace gstdrm::metis {

// TensorProto.DataType of onnx.proto
inline constexpr std::int64_t kOnnxNoTensor = 0;
inline constexpr std::int64_t kOnnxFloat = 1;
inline constexpr std::int64_t kOnnxInt32 = 6;
inline constexpr std::int64_t kOnnxInt64 = 7;
inline constexpr std::int64_t kOnnxFloat16 = 10;

struct OnnxTensor {
  std::string name;
  std::int64_t type = kOnnxNoTensor;
  std::vector<std::int64_t> dims; // -1 for a variable one
};

// What the runtime of this build takes.
struct OnnxAbilities {
  bool files_beside = false; // weights in other files, in the model's folder
  bool infers_types = false; // of tensors for which the file has none
  std::span<const std::int64_t> input_types;
  std::span<const std::int64_t> output_types;
};

struct OnnxModel {
  Model model;
  std::int64_t opset = 0; // version of ONNX's operators
};

// Completes the description by what the file says; output dimensions that neither knows stay 0.
// Returns an Error if the file is cut off, no ONNX or one that the runtime must not read, if file
// and description contradict each other, or if the input is no picture.
Result<OnnxModel> read_onnx_model(Model described, std::span<const std::byte> file,
                                  const OnnxAbilities &runtime);

// The same by what the runtime says about the network.
Result<Model> complete_model(Model described, std::span<const OnnxTensor> inputs,
                             std::span<const OnnxTensor> outputs, const OnnxAbilities &runtime);

// Sets unknown dimensions of an output to those that the network gave. Returns an Error if it gave
// another type or another number of elements. Only their number is compared, because OpenCV adds a
// second dimension to a tensor that has one.
Result<void> complete_output(const Model &model, TensorInfo &output, const OnnxTensor &given,
                             const OnnxAbilities &runtime);

} // namespace gstdrm::metis
