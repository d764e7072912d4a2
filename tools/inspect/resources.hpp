// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <string>

#include "machine.hpp"

namespace inspect {

// A device of this machine, if it is a DRM card: its connectors with their modes, and whether it
// has memory for frames. Empty for other nodes.
std::string list_card(const std::string &node);

// Cards that are no device of a source, the memory for frames that is no device's, and what of the
// machine could be better (gst-drm-verify-1.0 --machine).
std::string list_resources(const Machine &machine);

} // namespace inspect
