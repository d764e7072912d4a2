// SPDX-License-Identifier: LGPL-2.1-or-later
// What decoders read and return, and helpers for all of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gst/drm/core/result.hpp>

namespace gstdrm::metis {

// One output tensor of a model as row-major floats, without quantisation and padding.
struct TensorValues {
  std::string name;
  std::vector<std::size_t> dims;
  std::span<const float> values; // borrowed; the decoders check their number
  float step = 0;                // of the quantisation: the least difference of two values
};

using Tensors = std::span<const TensorValues>;

struct KeyPoint {
  float x = 0, y = 0;
};

// How surely a cell belongs to the object, 0 to 255, row by row over an area of the input.
struct Mask {
  float x = 0, y = 0;
  float width = 0, height = 0;
  std::size_t columns = 0;
  std::vector<std::uint8_t> values; // none: there is no mask
};

// All coordinates are pixels of the model's input, from its upper left corner.
struct Detection {
  float x = 0, y = 0; // upper left corner
  float width = 0, height = 0;
  float score = 0; // 0 to 1
  std::uint32_t label = 0;
  std::vector<KeyPoint> key_points;
  Mask mask{};
  std::vector<float> embedding{}; // of length 1
  std::size_t row = 0;            // of the model's table, for what is read of the best boxes alone
};

// What the numbers of a model's outputs mean. A model's description says it (decoders.hpp); what it
// leaves open is completed with the model's first tensors, and stays as it is from then on.
enum class ScoreForm { Unknown, Probabilities, Logits };
enum class BoxForm { Unknown, Xyxy, Yxyx, Cxcywh, Offsets };
enum class BoxUnit { Unknown, Pixels, Normalised };

struct OutputForm {
  ScoreForm scores = ScoreForm::Unknown;
  BoxForm boxes = BoxForm::Unknown;
  BoxUnit unit = BoxUnit::Unknown;
  bool settled = false; // the values of one frame were checked
};

struct DecodeOptions {
  std::uint32_t input_width = 0; // pixels of the model's input; 0 if unknown
  std::uint32_t input_height = 0;
  float threshold = 0.5F;      // lowest score
  float iou_threshold = 0.45F; // boxes of one label that overlap by more are one object
  std::size_t max_detections = 100;
};

inline float sigmoid(float logit) noexcept
{
  return 1.0F / (1.0F + std::exp(-logit));
}

// The least logit that can have a score of `threshold`, less a rounding error.
inline float least_logit(float threshold) noexcept
{
  constexpr float kSurely = 16; // from here on the sigmoid is 1 in binary32
  if (!(threshold > 0))
    return -std::numeric_limits<float>::infinity();
  return (threshold < 1 ? std::min(std::log(threshold / (1.0F - threshold)), kSurely) : kSurely) -
         0.001F;
}

// Removes leading dimensions of 1 (the batch) until `rank` are left.
std::vector<std::size_t> trimmed(const std::vector<std::size_t> &dims, std::size_t rank);

// Returns true if the number of values is the product of the dimensions, and not 0.
bool is_whole(const TensorValues &tensor);

// "tensors boxes 1x10x4, scores 1x10".
std::string describe(Tensors tensors);
Error unusable(const char *decoder, Tensors tensors, const std::string &why);

// Returns true if the name contains one of the words, which are in lower case, in any case.
bool name_has(const TensorValues &tensor, std::initializer_list<std::string_view> words);

// Returns true if all numbers of the box are finite, and width and height are above 0.
bool is_real(const Detection &detection);

// Intersection over union of the boxes, 0 to 1.
float overlap(const Detection &a, const Detection &b);

// The `most` best, sorted by score. Drops boxes that overlap a better one of the same label by more
// than `iou`; an `iou` of 1 or more drops none.
std::vector<Detection> best_of(std::vector<Detection> found, float iou, std::size_t most,
                               float (*overlap_of)(const Detection &, const Detection &) = overlap);

} // namespace gstdrm::metis
