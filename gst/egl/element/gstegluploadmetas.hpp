// SPDX-License-Identifier: LGPL-2.1-or-later
// What a frame keeps on its way from DMA buffers to textures, besides its pixels.
#pragma once

#include <gst/gst.h>

namespace gstdrm {

// Flags, times, and the metas of `in` that hold for textures as well.
void copy_metadata(GstBuffer *out, GstBuffer *in);

} // namespace gstdrm
