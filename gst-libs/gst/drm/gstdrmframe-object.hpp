// SPDX-License-Identifier: LGPL-2.1-or-later
// The dma-bufs behind the memories of a buffer.
#pragma once

#include <gst/gst.h>

#include "core/frame_layout.hpp"
#include "gstdrm-private.hpp"

namespace gstdrm {

// Facts of the memory's dma-buf, kept with the memory, so that a pooled buffer costs no system
// calls. `memory` has a descriptor.
Result<ObjectInfo> object_of(GstMemory *memory);

// Whether the bytes lie in one dma-buf, without a gap: in one memory of the buffer, or in several
// that follow each other in that dma-buf, too. What lies behind the last memory is not seen here.
bool is_in_one_object(GstBuffer *buffer, gsize offset, guint64 bytes);

} // namespace gstdrm
