// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <string>

namespace gstdrm {

// What one frame may need at once: its memory, each of four planes exported, and a driver's own.
constexpr unsigned kDescriptorsOfFrame = 8;

// EMFILE or ENFILE where the process cannot have `count` more descriptors at this moment, else 0.
// For APIs that report every failure with one status: GStreamer's buffer pools, and drivers whose
// status is the one for everything. The descriptors are taken for that and given back, so threads
// that open files meanwhile may find none: once for an object, or after a failure, never for each
// frame. Any thread; errno stays.
int out_of_descriptors(unsigned count) noexcept;

// Of what out_of_descriptors() answered, for the end of a sentence about what failed:
// ", with hardly a descriptor left (EMFILE (Too many open files))". Empty for 0.
std::string text_of_lack(int lack);

} // namespace gstdrm
