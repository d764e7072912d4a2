// SPDX-License-Identifier: LGPL-2.1-or-later
// Reports when the CPU maps memory of an allocator. The functions of an allocator are public fields
// (gst/gstallocator.h), which are replaced by ones that call them and report.
#pragma once

#include <gst/gst.h>

namespace gstdrm::verify {

using MapReport = void (*)(GstMemory *memory, bool writes, gsize bytes) noexcept;

// From now on, `report` is told of each mapping of memory of a watched allocator, in the thread
// that maps. nullptr ends that, and gives every allocator its own functions back.
void report_maps(MapReport report) noexcept;

// Watches an allocator for as long as it lives; once is enough.
void watch_maps(GstAllocator *allocator) noexcept;

} // namespace gstdrm::verify
