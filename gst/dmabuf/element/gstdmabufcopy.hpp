// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstdint>

#include <gst/drm/core/result.hpp>
#include <gst/video/video.h>

namespace gstdrm {

// Copies the visible pixels of a checked buffer into a buffer of `info`'s size. Returns the number
// of bytes copied, for the counters. Where the visible picture begins inside a block of pixels that
// share chroma (4:2:0 with an odd offset), each block gets the chroma of its first pixel; luma is
// exact.
Result<std::uint64_t> copy_frame(GstBuffer *dest, GstBuffer *source, const GstVideoInfo &info);

} // namespace gstdrm
