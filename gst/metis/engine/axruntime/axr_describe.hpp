// SPDX-License-Identifier: LGPL-2.1-or-later
// A model's description and what the runtime says of the model, put together.
#pragma once

#include <vector>

#include <gst/drm/core/result.hpp>

#include "engine/model.hpp"

namespace gstdrm::metis::axr {

// Fills `model` with the tensors of the runtime, which knows better than the description where both
// say something; ids and what the picture becomes are the description's. ErrorCode::Conflict: the
// two are not of the same model. ErrorCode::Unsupported: no picture can become this input.
Result<void> complete(Model &model, const TensorInfo &input,
                      const std::vector<TensorInfo> &outputs);

} // namespace gstdrm::metis::axr
