// SPDX-License-Identifier: LGPL-2.1-or-later
// The process that asks one device: gst-drm-inspect-1.0 --ask-driver KIND NUMBER PARENT [MANIFEST].
#pragma once

#include <string>
#include <vector>

#include "machine.hpp"

namespace inspect {

inline constexpr const char *kAskDriver = "--ask-driver";

// What the process writes: machines as --save writes them, a mark before each and a NUL behind it.
inline constexpr char kAsking = '?'; // its one source is asked now, and is known so far
inline constexpr char kAnswer = '='; // the last one: the device's sources; none: no such device

// The status that the process ends with. `words`: what follows the option. Drivers do not get to
// run their exit handlers, which crash in some: the caller has to use _exit().
int answer_driver_question(const std::vector<std::string> &words);

// All sources of the kind, by the drivers in this process.
std::vector<Source> ask_here(const std::string &kind);

} // namespace inspect
