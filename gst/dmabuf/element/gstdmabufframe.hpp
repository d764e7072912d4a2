// SPDX-License-Identifier: LGPL-2.1-or-later
// What the two elements do with one video buffer: look at its memory and layout, wait for it, share
// it.
#pragma once

#include <gst/drm/drm.h>
#include <gst/drm/element/frame_import.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/video/video.h>

namespace gstdrm {

// Every plane where gst_video_info_set_format() puts it, in one memory: what an element that knows
// no GstVideoMeta assumes.
bool has_default_layout(GstBuffer *buffer, const GstVideoInfo &info);

// frame_layout_of() of the whole of a padded frame. Checks it as check_mappable_layout() does.
Result<FrameLayout> importable_layout(GstBuffer *buffer, const GstDrmVideoInfo &info);

// Gives the buffer a GstVideoMeta of the format of `info`, without a copy of its memory. A buffer
// that others see too is never changed: it is replaced by a shallow copy that keeps it (and so its
// place in a pool) alive. False, and nothing done, where the memory cannot be shared.
bool share_frame(GstPtr<GstBuffer> &buffer, const GstVideoInfo &info);

} // namespace gstdrm
