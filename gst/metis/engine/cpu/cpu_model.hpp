// SPDX-License-Identifier: LGPL-2.1-or-later
// A model's description, completed by what the ONNX file says. Without OpenCV.
#pragma once

#include <gst/drm/core/result.hpp>

#include "engine/model.hpp"
#include "onnx_header.hpp"

namespace gstdrm::metis {

// Dimensions of outputs that neither side knows stay 0. Error where the two contradict each other,
// or where the input is none that the CPU back end can make.
Result<Model> complete_model(Model described, const OnnxHeader &header);

} // namespace gstdrm::metis
