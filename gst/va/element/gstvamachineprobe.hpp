// SPDX-License-Identifier: LGPL-2.1-or-later
// Probes the VA-API drivers of the machine, each in its own process.
#pragma once

#include <string>
#include <vector>

#include "engine/va_machine.hpp"

namespace gstdrm::va {

// A driver that crashes or hangs costs only its own node. If the probe program cannot be used, the
// drivers are probed in this process, with a warning in the log. `folder` has the plugin's file.
Machine probe_nodes(const std::vector<std::string> &paths, const std::string &folder);

} // namespace gstdrm::va
