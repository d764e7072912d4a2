// SPDX-License-Identifier: LGPL-2.1-or-later
// An ONNX file's inputs and outputs. OpenCV reads the network, but returns neither names nor
// dimensions of its inputs, and crashes on some bad files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <gst/drm/core/result.hpp>

#include "engine/model.hpp"

namespace gstdrm::metis {

struct OnnxModel {
  Model model;
  std::int64_t opset = 0; // version of ONNX's operators
};

// Completes the description by what the file says; output dimensions that neither knows stay 0.
// Returns an Error if the file is cut off, no ONNX or one that OpenCV cannot read, if file and
// description contradict each other, or if the input is no picture.
Result<OnnxModel> read_onnx_model(Model described, std::span<const std::byte> file);

} // namespace gstdrm::metis
