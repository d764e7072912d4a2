// SPDX-License-Identifier: LGPL-2.1-or-later
// Which connector, CRTC and planes a sink gets where several share a device.
#pragma once

#include <functional>

#include <gst/drm/core/result.hpp>

#include "engine/card/kms_reservation.hpp"
#include "kms_output.hpp"

namespace gstdrm::kms {

struct OutputChoice {
  Output output;
  Resources resources; // without the objects of other sinks
  Reservation reservation;
};

// Moves a lit display to another CRTC; false: it stays. `free` is what no sink of this process has.
using MoveDisplay = std::function<bool(const Resources &free, const CrtcMove &move)>;

// What the device has, without what sinks of this process have. Called with the choice lock.
Result<Resources> read_free_resources(Device &device, const std::string &connector);

// Reads the device and reserves an output that fits the request and that no other sink has. Where
// lit displays have to move for that, `move` is called. Error: another sink has an object that the
// request names, or no output is left. Any thread.
Result<OutputChoice> reserve_output(Device &device, const OutputRequest &request,
                                    const MoveDisplay &move = {});

// Reads the reserved output again, since another display may be connected to it. `request` names
// the connector. The returned choice has no reservation of its own.
Result<OutputChoice> read_output_again(Device &device, const Reservation &reservation,
                                       const OutputRequest &request);

} // namespace gstdrm::kms
