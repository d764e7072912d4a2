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

// How a picture becomes the input tensor: value = (channel - mean) * scale, for channels of 0 to
// 255, then the quantisation of the tensor, if it has one.
struct ImageInput {
  TensorLayout layout = TensorLayout::Nchw;
  ChannelOrder order = ChannelOrder::Rgb;
  Fit fit = Fit::Letterbox;
  std::array<float, 3> mean{0, 0, 0};
  std::array<float, 3> scale{1.0F / 255, 1.0F / 255, 1.0F / 255};
};

struct Model {
  std::string path;                       // the `model` property
  std::string name;                       // for messages; also the group of its tensors
  std::optional<std::uint32_t> device_id; // number of a loaded model (axl)
  std::string decoder; // the decoder for the outputs, such as "blazeface"; may be empty
  ImageInput image;
  TensorInfo input;                // completed by the back end
  std::vector<TensorInfo> outputs; // likewise
};

} // namespace gstdrm::metis
