// SPDX-License-Identifier: LGPL-2.1-or-later
// Elements of this machine with the devices of a saved machine.
#pragma once

#include <optional>
#include <string>

#include "side.hpp"

namespace inspect {

// The pairs of the saved machine's device that the element would use. Returns a Failure if the
// machine has no such device, and nullopt if the element uses no device that machines list: ask its
// pads then.
std::optional<Outcome<Side>> side_of_device(const Machine &machine, GstElement *element,
                                            GstPad *pad);

// A note for the user if properties choose by something that a saved machine does not list, else
// empty.
std::string unused_properties(GstElement *element);

} // namespace inspect
