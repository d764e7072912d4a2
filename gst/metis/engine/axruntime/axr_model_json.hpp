// SPDX-License-Identifier: LGPL-2.1-or-later
// A look at the file before the runtime gets it.
#pragma once

#include <string>

#include <gst/drm/core/result.hpp>

namespace gstdrm::metis::axr {

// The runtime crashes on some files that are no models, or says little. ErrorCode::Device with the
// errno of reading; ErrorCode::Format: no JSON object, or half of one. What the keys mean is not
// public, so the versions are the runtime's to compare. A file named *.axm is not JSON: not read.
Result<void> check_model_json(const std::string &path);

} // namespace gstdrm::metis::axr
