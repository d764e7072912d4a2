// SPDX-License-Identifier: LGPL-2.1-or-later
// What an ONNX file says of its inputs and outputs. OpenCV reads the network itself and tells
// neither names nor dimensions of inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gst/drm/core/result.hpp>

namespace gstdrm::metis {

// TensorProto.DataType of onnx.proto
inline constexpr std::int64_t kOnnxFloat = 1;

struct OnnxTensor {
  std::string name;
  std::int64_t type = 0;          // TensorProto.DataType; 0: not said
  std::vector<std::int64_t> dims; // -1: variable
};

struct OnnxHeader {
  std::int64_t opset = 0;         // of the standard operators
  std::vector<OnnxTensor> inputs; // without those that have an initial value: weights
  std::vector<OnnxTensor> outputs;
  std::vector<std::string> computed; // what the nodes give
  std::string missing;               // the first that a node wants and nothing gives
  std::string outside;               // the first file beside this one that has weights
  std::string hollow;                // the first weight that has elements and no values
};

// `path` is for messages. A file that is cut off, or is no ONNX, is an Error.
Result<OnnxHeader> read_onnx_header(std::span<const std::byte> file, const std::string &path);

} // namespace gstdrm::metis
