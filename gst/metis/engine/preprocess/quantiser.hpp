// SPDX-License-Identifier: LGPL-2.1-or-later
// From a channel of 0 to 255 to a value of the tensor (preprocess.hpp, step 4).
#pragma once

#include <array>
#include <cstdint>

#include <gst/drm/core/result.hpp>

#include "engine/model.hpp"
#include "rows.hpp"

namespace gstdrm::metis {

// One channel. `table` has all values; Offset and Affine give the same bytes in less time.
struct ChannelMap {
  enum class Way { Offset, Affine, Table };
  Way way = Way::Table;
  AffineMap affine{};                    // Way::Affine
  std::array<std::uint8_t, 256> table{}; // the bytes of uint8 or int8
  float mean = 0;
  float scale = 1;
};

struct Quantiser {
  std::array<ChannelMap, 3> channels; // in the order of the tensor
  std::uint8_t zero_point = 0;        // as a byte of the tensor; 0 for float tensors
};

Result<Quantiser> make_quantiser(const Model &model);

} // namespace gstdrm::metis
