// SPDX-License-Identifier: LGPL-2.1-or-later
// Which connector, CRTC and planes a sink gets where several share a device.
#pragma once

#include <gst/drm/core/result.hpp>

#include "kms_output.hpp"
#include "engine/card/kms_reservation.hpp"

namespace gstdrm::kms {

struct OutputChoice {
  Output output;
  Resources resources; // without what others have
  Reservation reservation;
};

// Reads the device and reserves the output that fits the request and nobody has. Error: what is
// asked for by name is another sink's, or nothing is left. Any thread.
Result<OutputChoice> reserve_output(Device &device, const OutputRequest &request);

// The output of that reservation as it is now: its connector may have another display. `request`
// names the connector. The choice has no reservation of its own.
Result<OutputChoice> read_output_again(const Device &device, const Reservation &reservation,
                                       const OutputRequest &request);

} // namespace gstdrm::kms
