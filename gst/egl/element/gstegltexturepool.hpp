// SPDX-License-Identifier: LGPL-2.1-or-later
// Textures of GStreamer's own for frames that are no import.
#pragma once

#include <gst/drm/gstdrm-private.hpp>
#include <gst/gl/gl.h>
#include <gst/video/video.h>

namespace gstdrm {

enum class SyncPoints { None, OfEachBuffer }; // a GstGLSyncMeta that stays with the buffer

// An active pool of 2D textures with these caps, which grows as downstream keeps buffers. Error of
// code Allocation.
Result<GstPtr<GstBufferPool>> open_texture_pool(GstGLContext *context, GstCaps *caps,
                                                const GstVideoInfo &info, SyncPoints sync_points);
// The next buffer. Error of code Allocation.
Result<GstPtr<GstBuffer>> acquire_texture(GstBufferPool *pool);
// What is out is freed when it comes back.
void close_texture_pool(GstPtr<GstBufferPool> &pool);

} // namespace gstdrm
