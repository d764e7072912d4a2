// SPDX-License-Identifier: LGPL-2.1-or-later
// The process that asks one device: gst-drm-inspect-1.0 --ask-driver KIND NUMBER PARENT [MANIFEST].
#pragma once

#include <string>
#include <vector>

#include "machine.hpp"

namespace inspect {

inline constexpr const char *kAskDriver = "--ask-driver";

// The process writes machines in the format of --save, each between a mark and a NUL.
inline constexpr char kAsking = '?'; // one source, whose driver is asked next
inline constexpr char kAnswer = '='; // the last machine: all sources of the device, if there is one

// Returns the exit status. `words` are the arguments after the option. The caller has to use
// _exit(), because the exit handlers of some drivers crash.
int answer_driver_question(const std::vector<std::string> &words);

// All sources of the kind. Loads the drivers into this process.
std::vector<Source> ask_here(const std::string &kind);

} // namespace inspect
