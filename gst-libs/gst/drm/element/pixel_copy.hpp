// SPDX-License-Identifier: LGPL-2.1-or-later
// The copy of a linear frame's pixels by the CPU. gst_video_frame_copy() is not used: of an
// interlaced 4:2:0 frame of 486 lines it leaves the last chroma row out, and of formats with a
// pixel stride of 0 it reads whole strides, the last one too, which may reach beyond the memory.
#pragma once

#include <cstdint>

#include <gst/drm/core/result.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/video/video.h>

namespace gstdrm {

// The frame with a GstVideoMeta that gst_video_frame_map() takes, for reading: the frame itself
// where its meta names the real format. The memory and the GstVideoCropMeta are the frame's; others
// may read its GstVideoMeta meanwhile, so that is not changed.
GstPtr<GstBuffer> with_named_format(GstBuffer *frame, const GstVideoInfo &info);

// Copies the visible pixels of a checked buffer (mappable_frame.hpp, frame_layout_of()) into a
// buffer of `info`'s size. Returns the number of bytes copied, for the counters. Where the visible
// picture begins inside a block of pixels that share chroma (4:2:0 with an odd offset), each block
// gets the chroma of its first pixel; luma is exact. Error of code Layout for a wrong
// GstVideoCropMeta, Import where the CPU cannot map one of the two.
Result<std::uint64_t> copy_frame(GstBuffer *dest, GstBuffer *source, const GstVideoInfo &info);

// The visible pixels of a frame of any layout, in a new buffer of system memory that has no metas.
// Errors as check_mappable_layout() and copy_frame() have them, Allocation for want of memory.
Result<GstPtr<GstBuffer>> visible_picture(GstBuffer *source, const GstVideoInfo &info);

} // namespace gstdrm
