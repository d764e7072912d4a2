// SPDX-License-Identifier: LGPL-2.1-or-later
// Which connector, CRTC and planes a sink gets where several share a device.
#pragma once

#include <gst/drm/core/result.hpp>

#include "kms_output.hpp"
#include "engine/card/kms_reservation.hpp"

namespace gstdrm::kms {

struct OutputChoice {
  Output output;
  Resources resources; // without the objects of other sinks
  Reservation reservation;
};

// Reads the device and reserves an output that fits the request and that no other sink has. Error:
// another sink has an object that the request names, or no output is left. Any thread.
Result<OutputChoice> reserve_output(Device &device, const OutputRequest &request);

// Reads the reserved output again, since another display may be connected to it. `request` names
// the connector. The returned choice has no reservation of its own.
Result<OutputChoice> read_output_again(const Device &device, const Reservation &reservation,
                                       const OutputRequest &request);

} // namespace gstdrm::kms
