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
// Letterbox keeps the aspect ratio and fills the rest of the input with one colour.
enum class Fit { Stretch, Letterbox };
enum class LetterboxPlace { Centre, TopLeft };

// How a picture becomes the input tensor: value = (channel - mean) * scale, for channels of 0 to
// 255, then the quantisation of the tensor, if it has one.
struct ImageInput {
  TensorLayout layout = TensorLayout::Nchw;
  ChannelOrder order = ChannelOrder::Rgb;
  Fit fit = Fit::Letterbox;
  std::array<float, 3> mean{0, 0, 0};
  std::array<float, 3> scale{1.0F / 255, 1.0F / 255, 1.0F / 255};
  LetterboxPlace place = LetterboxPlace::Centre;
  std::array<float, 3> bars{0, 0, 0}; // channels of 0 to 255, whole numbers, in the tensor's order
};

struct Model {
  std::string path;                       // the `model` property
  std::string name;                       // for messages; also the group of its tensors
  std::optional<std::uint32_t> device_id; // number of a loaded model (axl)
  std::string decoder; // as read_output_setting() reads it, such as "blazeface"; may be empty
  ImageInput image;
  TensorInfo input;                // completed by the back end
  std::vector<TensorInfo> outputs; // likewise
};

} // namespace gstdrm::metis
