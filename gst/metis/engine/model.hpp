// SPDX-License-Identifier: LGPL-2.1-or-later
// What is known of a model: how a picture becomes its input, and what its outputs are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor.hpp"

namespace gstdrm::metis {

enum class TensorLayout { Nhwc, Nchw };
enum class ChannelOrder { Rgb, Bgr };
// Letterbox keeps the aspect ratio, centres the picture and fills the rest with black.
enum class Fit { Stretch, Letterbox };

// How a picture becomes the input tensor: value = (channel - mean) * scale with channels of 0 to
// 255, then the tensor's quantisation, if it has one.
struct ImageInput {
  TensorLayout layout = TensorLayout::Nchw;
  ChannelOrder order = ChannelOrder::Rgb;
  Fit fit = Fit::Letterbox;
  std::array<float, 3> mean{0, 0, 0};
  std::array<float, 3> scale{1.0F / 255, 1.0F / 255, 1.0F / 255};
};

struct Model {
  std::string path;                       // the file, as the user named it
  std::string name;                       // for messages and results: the group of its tensors
  std::optional<std::uint32_t> device_id; // number of a model that the device has already (axl)
  std::string
      decoder; // which decoder understands the outputs, such as "blazeface"; empty: not said
  ImageInput image;
  TensorInfo input;                // the back end completes what the description leaves out
  std::vector<TensorInfo> outputs; // likewise
};

} // namespace gstdrm::metis
