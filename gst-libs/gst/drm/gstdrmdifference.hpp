// SPDX-License-Identifier: LGPL-2.1-or-later
// In what a buffer differs from what one accessor asks: for gst_drm_buffer_meets(), and for the
// element kit, which words its own messages. Never installed.
#pragma once

#include <string>

#include <gst/gst.h>

#include "gstdrmconstraints.h"
#include "gstdrmvideoinfo.h"

namespace gstdrm {

// The two ends of "MAKER makes …, and ACCESSOR asks for …".
struct Difference {
  std::string has;   // "plane 0 with a stride of 64 bytes"
  std::string asked; // "a multiple of 512"
  GstDrmConstraintKey key = GST_DRM_CONSTRAINT_BUFFER_TYPE;
  explicit operator bool() const noexcept { return !has.empty(); }
};

// Strides, offsets, sizes, planes and descriptors. `info` may be null for a buffer that is no
// picture. Asked about each frame of a stream: allocates nothing where there is no difference.
Difference layout_difference(const GstDrmConstraints *asked, GstBuffer *buffer,
                             const GstDrmVideoInfo *info);

// The kind of memory that `allocator` makes. Memory of an allocator that is no GstDrmAllocator is
// taken for a device's. `own_device` is the device of an allocator that names none.
Difference memory_difference(const GstDrmConstraints *asked, GstAllocator *allocator,
                             const std::string &own_device);

// "MAKER makes …, and ACCESSOR asks for …"
std::string describe(const Difference &difference, const std::string &maker,
                     const GstDrmConstraints *asked);

} // namespace gstdrm
