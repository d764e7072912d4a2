// SPDX-License-Identifier: LGPL-2.1-or-later
// What decoders read and what they give.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gstdrm::metis {

// One output tensor of a model, as numbers in row-major order: no longer quantised, no padding.
struct TensorValues {
  std::string name;
  std::vector<std::size_t> dims;
  std::span<const float> values; // borrowed; as many as the product of `dims`
};

struct KeyPoint {
  float x = 0, y = 0;
};

// All coordinates are pixels of the model's input, from its upper left corner.
struct Detection {
  float x = 0, y = 0; // upper left corner
  float width = 0, height = 0;
  float score = 0; // 0 to 1
  std::uint32_t label = 0;
  std::vector<KeyPoint> key_points;
};

struct DecodeOptions {
  std::uint32_t input_width = 0; // pixels of the model's input; 0 if not known
  std::uint32_t input_height = 0;
  float threshold = 0.5F;      // least score
  float iou_threshold = 0.45F; // boxes of one label that overlap more are one object
  std::size_t max_detections = 100;
};

} // namespace gstdrm::metis
