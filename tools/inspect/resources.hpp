// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <string>

namespace inspect {

// What this machine has beside formats: the connectors of its display devices with their modes, and
// the kinds of memory that frames can be allocated in, each with the reason where it does not work.
std::string list_resources();

} // namespace inspect
