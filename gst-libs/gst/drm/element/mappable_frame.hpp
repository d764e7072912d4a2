// SPDX-License-Identifier: LGPL-2.1-or-later
// What the CPU must know of a frame in system memory, or of any linear frame, before it follows a
// GstVideoMeta: GStreamer maps a frame without asking whether its planes end inside the memory.
#pragma once

#include <gst/drm/core/result.hpp>
#include <gst/video/video.h>

namespace gstdrm {

// Before anything asks GStreamer about the meta's format: a number that is none has no name, and
// gst_video_format_to_string() reads beside its table for a negative one. A value outside of the
// enumeration must not even be read as one.
Result<void> check_format_number(const GstVideoMeta &meta);

// The rows of the plane lie in one memory of the buffer. `info` has the format and size of the
// meta.
Result<void> check_plane(GstBuffer *buffer, const GstVideoInfo &info, const GstVideoMeta &meta,
                         guint plane);

// Of a frame without a GstVideoMeta: the buffer is as large as the caps' own layout. Error of code
// Layout with the numbers.
Result<void> check_default_size(GstBuffer *buffer, const GstVideoInfo &info);

// Every plane of the meta, by check_plane().
Result<void> check_planes(GstBuffer *buffer, const GstVideoInfo &info, const GstVideoMeta &meta);

// A frame of the caps' own size, padded or not, whose planes lie inside the buffer's memory. Error
// of code Layout with the numbers.
Result<void> check_mappable_frame(GstBuffer *buffer, const GstVideoInfo &info);

// GstVideoInfo has room for the size that the meta says.
Result<void> check_sides(const GstVideoMeta &meta);

// A frame of the caps' size or of a larger one, with the visible picture inside of it: what a CPU
// must know before it follows a GstVideoMeta and a GstVideoCropMeta. Error of code Layout with the
// numbers.
Result<void> check_mappable_layout(GstBuffer *buffer, const GstVideoInfo &info);

} // namespace gstdrm
