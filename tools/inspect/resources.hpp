// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <string>

namespace inspect {

// Lists the connectors of this machine's display devices with their modes, and the kinds of memory
// for frames, with the reason if one does not work.
std::string list_resources();

} // namespace inspect
