// SPDX-License-Identifier: LGPL-2.1-or-later
// Which connector, CRTC and planes a sink gets where several share a device.
#pragma once

#include <gst/drm/core/result.hpp>

#include "engine/card/kms_reservation.hpp"
#include "kms_output.hpp"

namespace gstdrm::kms {

struct OutputChoice {
  Output output;
  Resources resources;     // those that the output was chosen from
  Reservation reservation; // the objects are not taken yet
  bool is_shared = false;  // another sink of this process waits for it too, or shows on it
};

// Reads the device and chooses an output that fits the request: one that no other sink of this
// process has chosen, else one on which none shows, else any, which the sink waits for. Any
// thread.
Result<OutputChoice> reserve_output(Device &device, const OutputRequest &request);

// Takes the objects of the output, for the frames of one sink. Error: another sink of this process
// shows on one of them.
Result<void> take_output(const Device &device, Reservation &reservation, const Output &output);

// Reads the reserved output again, since another display may be connected to it. `request` names
// the connector. The returned choice has no reservation of its own.
Result<OutputChoice> read_output_again(Device &device, const Reservation &reservation,
                                       const OutputRequest &request);

} // namespace gstdrm::kms
