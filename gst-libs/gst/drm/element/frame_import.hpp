// SPDX-License-Identifier: LGPL-2.1-or-later
// What an element looks at before it gives a buffer to a device: the memory, and with
// frame_layout_of() the checked layout.
#pragma once

#include <gst/drm/gstdrmframe-private.hpp>

namespace gstdrm {

enum class MemoryKind {
  DmaBuf,   // all of the buffer's memories are dmabuf memory, and there is one at least
  Mixed,    // some are
  NoDmaBuf, // none is
};
MemoryKind memory_kind(GstBuffer *buffer);

} // namespace gstdrm
