// SPDX-License-Identifier: LGPL-2.1-or-later
// The layout of a buffer as the C++ sources of this tree use it. Never installed: the plugins are
// built and installed together with the library.
#pragma once

#include <gst/gst.h>

#include "core/frame_layout.hpp"
#include "gstdrmvideoinfo.h"

namespace gstdrm {

// What gst_drm_frame_from_buffer() finds, without the structure of the C API between: an Error of
// code Layout, with the numbers, where the layout is not sound; of code Allocation where memory
// ends. The descriptors are borrowed from the buffer.
GST_DRM_API
Result<FrameLayout> frame_layout_of(GstBuffer *buffer,
                                    const GstDrmVideoInfo &info) GST_DRM_NOEXCEPT;

} // namespace gstdrm
