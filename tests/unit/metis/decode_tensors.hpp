// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors that are small enough to be read, and what a decoder finds in them, as text.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "decode/decoders.hpp"

namespace gstdrm::test {

using namespace gstdrm::metis;

// A tensor with its values.
struct Owned {
  std::string name;
  std::vector<std::size_t> dims;
  std::vector<float> values;
  float step = 0; // of the quantisation
};

inline std::vector<TensorValues> views(const std::vector<Owned> &owned)
{
  std::vector<TensorValues> tensors;
  for (const Owned &tensor : owned)
    tensors.push_back({tensor.name, tensor.dims, tensor.values, tensor.step});
  return tensors;
}

// A model's first frame, decoded as the description "WORD" or "WORD,KEY=VALUE" says.
inline Result<std::vector<Detection>> decode(const std::string &said, Tensors tensors, const DecodeOptions &options)
{
  const auto setting = read_output_setting(said);
  if (!setting)
    return setting.error();
  auto model = ModelDecoder::create(*setting, tensors, options);
  return model ? model->decode(tensors, options) : model.error();
}

// "label score x y width height", rounded, one object after the other.
inline std::string text_of(const std::vector<Detection> &found)
{
  std::string text;
  for (const Detection &object : found) {
    text += text.empty() ? "" : "; ";
    text += std::to_string(object.label) + " " + std::to_string(std::lround(object.score * 100)) + "%";
    for (const float number : {object.x, object.y, object.width, object.height})
      text += " " + std::to_string(std::lround(number));
  }
  return text;
}

inline DecodeOptions options_of(std::uint32_t width, std::uint32_t height)
{
  DecodeOptions options;
  options.input_width = width;
  options.input_height = height;
  return options;
}

} // namespace gstdrm::test
