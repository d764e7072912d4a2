// SPDX-License-Identifier: LGPL-2.1-or-later
// Asks every VA-API driver of the machine what it makes, each in a process of its own.
#pragma once

#include <string>
#include <vector>

#include "engine/va_machine.hpp"

namespace gstdrm::va {

// A driver that crashes, or does not answer in time, costs its own node. Where the program that
// probes cannot be used, the drivers are asked in this process, and the log says so. `folder`:
// where the plugin's file is.
Machine probe_nodes(const std::vector<std::string> &paths, const std::string &folder);

} // namespace gstdrm::va
