// SPDX-License-Identifier: LGPL-2.1-or-later
// Which connector, CRTC and planes a sink gets where several share a device.
#pragma once

#include <functional>
#include <string>

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
// the connector.
Result<Output> read_output_again(Device &device, const Reservation &reservation,
                                 const OutputRequest &request);

// An output that another program has lit, such as the one of a user interface, and the plane on it
// that a sink shows its picture with. The sink sets no mode there, and touches no other object.

// Whether the request is for a CRTC that is lit already, if there is one.
bool wants_join(const OutputRequest &request);

// Whether a sink may show on a plane that its request does not name.
using UsablePlane = std::function<bool(const Plane &plane)>;

// The lit output of the request, with one plane: the one that the request names, else the usable
// one with the most formats. Error: why there is none, and what helps.
Result<Output> join_output(const Resources &resources, const OutputRequest &request,
                           const UsablePlane &is_usable, const std::string &device_name);

} // namespace gstdrm::kms
