// SPDX-License-Identifier: LGPL-2.1-or-later
// What the decoders share.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "decoders.hpp"

namespace gstdrm::metis {

inline float sigmoid(float logit) noexcept
{
  return 1.0F / (1.0F + std::exp(-logit));
}

// The dimensions without leading ones (the batch), down to `rank` of them.
std::vector<std::size_t> trimmed(const std::vector<std::size_t> &dims, std::size_t rank);

// Whether there are as many values as the dimensions say.
bool is_whole(const TensorValues &tensor);

// "tensors boxes 1x10x4, scores 1x10".
std::string describe(Tensors tensors);
Error unusable(const char *decoder, Tensors tensors, const std::string &why);

// Whether one of the words is in the name, in small letters or capitals.
bool name_has(const TensorValues &tensor, std::initializer_list<std::string_view> words);

// A box whose every number is finite, with an extent above 0.
bool is_real(const Detection &detection);

// Best score first, cut to `most`. `iou` 1 or more: no box is dropped for its overlap.
std::vector<Detection> best_of(std::vector<Detection> found, float iou, std::size_t most);

// Intersection over union, 0 to 1.
float overlap(const Detection &a, const Detection &b);

} // namespace gstdrm::metis
