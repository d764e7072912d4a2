// SPDX-License-Identifier: LGPL-2.1-or-later
// Where the pixels of a linear GstVideoFormat lie in its planes. The numbers come from the table of
// DRM fourccs, because GstVideoFormatInfo has none for formats whose pixels share bytes in groups:
// its pixel stride is 0 for them.
#pragma once

#include <gst/drm/core/format.hpp>
#include <gst/video/video.h>

namespace gstdrm {

// nullptr for a format that no linear fourcc names.
const FourccInfo *linear_fourcc(GstVideoFormat format) noexcept;

// The number of bytes that the pixels of one row take, in a plane whose rows are `stride` bytes
// apart. For formats with groups of pixels and some widths (the UV plane of NV12_10LE32),
// GStreamer's default stride is less than the row that a device writes. A plane with so small a
// stride has rows of the default stride.
gsize row_bytes(const GstVideoInfo &info, guint plane, gsize stride);
// Rows of the plane that a device reads.
guint rows_of_plane(const GstVideoInfo &info, guint plane);
// Rows of the plane that GStreamer reads. In an interlaced picture each field has whole rows of
// chroma, so that a 4:2:0 picture of 486 lines has 244 chroma rows, not 243 (gstvideoinfo.c,
// fill_planes()).
guint rows_with_fields(const GstVideoInfo &info, guint plane);

// Whether the lines of the buffer alternate between two fields.
bool has_fields(GstBuffer *buffer, const GstVideoInfo &info);
// The chroma row of line `y` of the picture, in a plane that is vertically subsampled by `vsub`.
guint row_of_line(guint y, guint vsub, bool fields) noexcept;
// Whether line `y` is the first of the lines that share a chroma row.
bool begins_row(guint y, guint vsub, bool fields) noexcept;

// The largest width or height, in pixels, that is accepted from a GstVideoMeta. More would overflow
// GstVideoInfo.
constexpr guint kMaxSide = 1U << 24;

} // namespace gstdrm
