// SPDX-License-Identifier: LGPL-2.1-or-later
// A model that the device has loaded, and what a request for it must look like.
#pragma once

#include <cstdint>

#include <gst/drm/core/result.hpp>

#include "axl_device.hpp"
#include "engine/backend.hpp"

namespace gstdrm::metis {

struct AxlModel {
  Model model;                   // completed; one output
  std::uint32_t id = 0;          // on the device
  std::uint32_t input_width = 0; // pixels; 0: any size
  std::uint32_t input_height = 0;
};

// Completes the description with what the driver says. Error: no number, no such model, or the two
// contradict each other.
Result<AxlModel> complete_model(const Model &description, AxlDevice &device);

// Whether the device can take the request; the message says what is wrong with it.
Result<void> check_request(const Request &request, const AxlModel &model, const AxlDevice &device);

} // namespace gstdrm::metis
