// SPDX-License-Identifier: LGPL-2.1-or-later
// A pipeline on a saved machine: which link has what in common, and who copies.
#pragma once

#include "machine.hpp"
#include "pipeline.hpp"

namespace inspect {

// `description` as gst-launch-1.0 reads it. Nothing is started, and no device is opened: elements
// that use a device have the pairs that the machine's sources have, the others those of their pads.
// Says nothing of sizes, of properties but `device` and `driver-name`, and of what a driver refuses
// later.
Negotiated explain_saved(const Machine &machine, const std::string &description);

} // namespace inspect
