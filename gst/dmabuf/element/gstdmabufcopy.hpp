// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstdint>

#include <gst/drm/core/result.hpp>
#include <gst/video/video.h>

namespace gstdrm {

// Copies the visible pixels of a checked buffer into one of `info`'s size; bytes in it, for the
// counters. Where the picture begins inside a block of pixels that share colour (4:2:0 from an odd
// pixel on), each block gets the colour of its first pixel, and brightness is exact.
Result<std::uint64_t> copy_frame(GstBuffer *dest, GstBuffer *source, const GstVideoInfo &info);

} // namespace gstdrm
