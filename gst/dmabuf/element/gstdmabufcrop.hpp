// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames that are larger than the caps say, with the visible picture somewhere in them.
#pragma once

#include <gst/drm/gstdrm-private.hpp>
#include <gst/video/video.h>

namespace gstdrm {

// The GstVideoMeta describes a larger picture than the caps; a GstVideoCropMeta then says where the
// caps' one is, without one it begins at 0,0.
bool is_padded_frame(GstBuffer *buffer, const GstVideoInfo &info);

// The first visible pixel.
struct Corner {
  guint x = 0;
  guint y = 0;
};

// 0,0 for a frame that is not padded: there a GstVideoCropMeta is the consumer's business. Error of
// code Layout where the GstVideoCropMeta is not of the caps' size, leaves the frame, or begins in
// the other field of an interlaced one.
Result<Corner> visible_corner(GstBuffer *buffer, const GstVideoInfo &info);

// Replaces a padded frame, which was checked, by a shallow copy whose GstVideoMeta describes the
// visible part, and which has no GstVideoCropMeta. False, and nothing done, where a plane has no
// byte at which the picture begins (its corner lies inside a block of pixels that share bytes or
// colour), where that is not a multiple of `align` bytes further on, or where the memory cannot be
// shared. A layout that is not linear can be cut at its right and lower edge only.
bool crop_in_place(GstPtr<GstBuffer> &buffer, const GstVideoInfo &info, gsize align);

// Takes a GstVideoCropMeta off, of a shallow copy where the buffer is not writable.
void drop_crop(GstPtr<GstBuffer> &buffer);

// A buffer of one's own on the same memory, which keeps the old one (and so its place in a pool)
// alive. Empty where the core copied memory that may not be shared.
GstPtr<GstBuffer> shallow_copy(GstBuffer *buffer);

} // namespace gstdrm
