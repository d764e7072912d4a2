// SPDX-License-Identifier: LGPL-2.1-or-later
// Where the pixels of a linear GstVideoFormat lie in its planes, by the DRM fourcc's own table:
// GstVideoFormatInfo has no such numbers for pixels in groups (its pixel stride is 0 there).
#pragma once

#include <gst/drm/core/format.hpp>
#include <gst/video/video.h>

namespace gstdrm {

// nullptr for a format that no linear fourcc names; no caps of the two elements have one.
const FourccInfo *linear_fourcc(GstVideoFormat format) noexcept;

// Bytes of pixels in one row of the plane, where rows are `stride` bytes apart. GStreamer's own
// stride is less than the device's row for some widths of pixels in groups (the UV of NV12_10LE32),
// and then all that there is.
gsize row_bytes(const GstVideoInfo &info, guint plane, gsize stride);
// Rows of the plane that a device reads.
guint rows_of_plane(const GstVideoInfo &info, guint plane);
// Rows of the plane that GStreamer reads: in an interlaced picture each field has whole rows of
// chroma, so that one of 486 lines in 4:2:0 has 244 and not 243 (gstvideoinfo.c, fill_planes()).
guint rows_with_fields(const GstVideoInfo &info, guint plane);

// The lines of the buffer belong to two fields in turn.
bool has_fields(GstBuffer *buffer, const GstVideoInfo &info);
// The row of a plane subsampled by `vsub` in which line `y` of the picture has its colour.
guint row_of_line(guint y, guint vsub, bool fields) noexcept;
// Line `y` is the first of those that share that row.
bool begins_row(guint y, guint vsub, bool fields) noexcept;

// The largest side of a frame whose numbers are believed. More would overflow GstVideoInfo.
constexpr guint kMaxSide = 1U << 24;

} // namespace gstdrm
