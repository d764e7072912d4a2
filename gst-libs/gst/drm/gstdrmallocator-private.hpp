// SPDX-License-Identifier: LGPL-2.1-or-later
// What the library's own sources know of an allocator beyond its C API. Never installed.
#pragma once

#include "core/allocated_frame.hpp"
#include "core/result.hpp"
#include "gstdrmallocator.h"

namespace gstdrm {

// Whether the allocator knows bytes alone, so that its caller lays them out.
bool makes_bytes(GstDrmAllocator *allocator);
// Memory of at least this size. Error of code Unsupported where the allocator makes whole pictures
// only.
Result<FrameObject> allocate_bytes(GstDrmAllocator *allocator, std::uint64_t size_bytes);

} // namespace gstdrm
