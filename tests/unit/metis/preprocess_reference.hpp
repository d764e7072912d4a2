// SPDX-License-Identifier: LGPL-2.1-or-later
// The arithmetic that preprocess.hpp documents, once more: one value of a tensor at a time, in
// double and with floor(), from the samples of a picture. Shares no code with the engine.
#pragma once

#include <cstdint>

#include "engine/preprocess.hpp"

namespace gstdrm::metis::reference {

struct Box {
  std::int64_t x, y, width, height;
};

// Where the picture goes in a tensor of that many pixels without padding.
Box content_box(Fit fit, std::int64_t picture_width, std::int64_t picture_height,
                std::int64_t width, std::int64_t height, const Sampling &sampling = {});

// 0 red, 1 green, 2 blue: the channel of 0 to 255 at a pixel of the content.
double channel_at(const PictureView &picture, const Box &box, std::int64_t x, std::int64_t y,
                  int colour, const Sampling &sampling = {});

// Step 4 for the tensor's n-th channel; a float tensor's value or an integer tensor's q.
double tensor_value(const Model &model, int channel, double level);

} // namespace gstdrm::metis::reference
