// SPDX-License-Identifier: LGPL-2.1-or-later
// A model for libaxruntime: checks of what the file, the runtime and the description say about it.
#pragma once

#include <string>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "axr_library.hpp"
#include "engine/model.hpp"

namespace gstdrm::metis::axr {

// The runtime crashes on some files that are no models, or gives no reason. ErrorCode::Device with
// the errno of reading; ErrorCode::Format if the file is no JSON object or is cut off. The meaning
// of the keys is not public, so the runtime checks the versions. Files named *.axm are not JSON and
// are not read.
Result<void> check_model_json(const std::string &path);

// Checks and converts `area`, which the runtime returned. `what` names the tensor for messages,
// such as "input 0". ErrorCode::Unsupported if the type is not supported, or the values cannot be
// a tensor's, because the runtime has another axrTensorInfo than this plugin.
Result<TensorInfo> read_tensor(const Api &api, const TensorArea &area, const std::string &what);

// Fills `model` with the tensors of the runtime. Names, dimensions and types come from the runtime;
// ids and ImageInput from the description. ErrorCode::Conflict if the description is of another
// model; ErrorCode::Unsupported if the input is no picture.
Result<void> complete(Model &model, const TensorInfo &input,
                      const std::vector<TensorInfo> &outputs);

} // namespace gstdrm::metis::axr
