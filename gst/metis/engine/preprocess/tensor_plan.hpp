// SPDX-License-Identifier: LGPL-2.1-or-later
// Where the values of a model's input lie in memory.
#pragma once

#include <cstddef>

#include <gst/drm/core/result.hpp>

#include "engine/model.hpp"

namespace gstdrm::metis {

// One dimension: what carries values, and all that lies in memory.
struct Span {
  std::size_t before = 0;
  std::size_t size = 0;
  std::size_t total = 0;
};

// N x H x W x C is one plane of rows with interleaved channels, N x C x H x W one plane per
// channel.
struct TensorPlan {
  Span height, width, channels;
  bool interleaved = false;
  bool is_float = false;
  std::size_t element_bytes = 1;
  std::size_t pixel_bytes = 1; // from one pixel to the next in a row
  std::size_t row_bytes = 0;
  std::size_t plane_bytes = 0;
  std::size_t n_planes = 1;
  [[nodiscard]] std::size_t bytes() const { return plane_bytes * n_planes; }
};

// An Error for what is no picture: other than four dimensions, N other than 1, other than 3
// channels, sizes of 0 or above kMaxFrameSize, padding that leaves nothing.
Result<TensorPlan> make_tensor_plan(const Model &model);

} // namespace gstdrm::metis
