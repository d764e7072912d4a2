// SPDX-License-Identifier: LGPL-2.1-or-later
// A saved machine as settings of the test driver.
#pragma once

#include <string>

#include "settings.hpp"

namespace gstdrm::test::vadriver {

// `file` is FILE, for the first VA-API driver of the machine, or FILE#NAME for one of its sources.
// Settings become what that driver exported there: each format with its own modifiers, tiled ones
// before LINEAR. Formats that the test driver does not know are left out. false: there is no such
// driver in the file, it has no format that is known, or the build has no json-c.
bool play_machine(const std::string &file, Settings &settings);

} // namespace gstdrm::test::vadriver
