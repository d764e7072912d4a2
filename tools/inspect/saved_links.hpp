// SPDX-License-Identifier: LGPL-2.1-or-later
// A pipeline on a saved machine: what each link has in common, and which elements copy.
#pragma once

#include "machine.hpp"
#include "pipeline.hpp"

namespace inspect {

// `description` has the syntax of gst-launch-1.0. Starts nothing and opens no device: elements that
// use a device have the pairs of the machine's sources, others the caps of their pads. Ignores
// sizes, all properties except `device` and `driver-name`, and later refusals by a driver.
Negotiated explain_saved(const Machine &machine, const std::string &description);

} // namespace inspect
