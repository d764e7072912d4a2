// SPDX-License-Identifier: LGPL-2.1-or-later
// The sources of interfaces that load a GPU's driver into the process that asks: GBM, EGL, Vulkan.
#pragma once

#include <string>

#include "machine.hpp"

namespace inspect {

// Adds the sources of "gbm", "egl" or "vulkan". This program runs itself once for each device
// (driver_child.hpp), so that a driver that crashes, hangs, prints or ends its process spoils only
// its own source, which gets a problem. GST_DRM_PROBE=no loads the drivers into this process.
void ask_drivers(const std::string &kind, Machine &machine);

} // namespace inspect
