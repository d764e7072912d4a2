// SPDX-License-Identifier: LGPL-2.1-or-later
// What the runtime says of a tensor, checked.
#pragma once

#include <string>

#include <gst/drm/core/result.hpp>

#include "axr_api.hpp"
#include "engine/tensor.hpp"

namespace gstdrm::metis::axr {

// `area` is what the runtime returned, `what` names the tensor for messages, such as "input 0".
// ErrorCode::Unsupported: the values cannot be a tensor's, so that the runtime's struct is another
// one than this plugin knows, or the tensor is of a type that is not supported.
Result<TensorInfo> read_tensor(const Api &api, const TensorArea &area, const std::string &what);

} // namespace gstdrm::metis::axr
