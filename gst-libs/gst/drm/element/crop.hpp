// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames that are larger than the caps say, with the visible picture somewhere in them.
#pragma once

#include <gst/drm/gstdrm-private.hpp>
#include <gst/video/video.h>

namespace gstdrm {

// Whether the GstVideoMeta describes a larger picture than the caps. The GstVideoCropMeta of such a
// frame says where the picture of the caps lies; without one, the picture begins at 0,0.
bool is_padded_frame(GstBuffer *buffer, const GstVideoInfo &info);

// The first visible pixel.
struct Corner {
  guint x = 0;
  guint y = 0;
};

// 0,0 for a frame that is not padded. Error of code Layout where the rectangle of the
// GstVideoCropMeta differs from the caps' size, reaches beyond the frame, or begins in the second
// field of an interlaced frame.
Result<Corner> visible_corner(GstBuffer *buffer, const GstVideoInfo &info);

// What is shown of the frame: the caps' size at visible_corner(), or in a frame of the caps' own
// size the rectangle of its GstVideoCropMeta. Error of code Layout also where that is empty or
// reaches beyond the frame.
Result<GstVideoRectangle> visible_rectangle(GstBuffer *buffer, const GstVideoInfo &info);

// Replaces a padded, checked frame by a shallow copy without GstVideoCropMeta, whose GstVideoMeta
// describes the visible part. Returns false and changes nothing where a plane has no byte at which
// the visible picture begins (its corner lies inside a block of pixels that share bytes or chroma),
// where that byte is not a multiple of `align` bytes after the plane's first pixel, or where the
// memory cannot be shared. A layout that is not linear can be cropped at its right and lower edge
// only.
bool crop_in_place(GstPtr<GstBuffer> &buffer, const GstVideoInfo &info, gsize align);

// Removes the GstVideoCropMeta. A buffer that is not writable is first replaced by a shallow copy.
void drop_crop(GstPtr<GstBuffer> &buffer);

// A new, writable buffer with the same memory. The new buffer keeps the old one alive, so that the
// old one does not go back to its pool while the memory is in use. Empty where GStreamer copied
// memory that may not be shared.
GstPtr<GstBuffer> shallow_copy(GstBuffer *buffer);

} // namespace gstdrm
