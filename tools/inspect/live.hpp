// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "machine.hpp"

namespace inspect {

// Lists the sources of this machine. Loads each driver of GBM, EGL and Vulkan in a process of its
// own.
Machine read_machine();

} // namespace inspect
