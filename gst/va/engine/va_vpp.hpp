// SPDX-License-Identifier: LGPL-2.1-or-later
// Video processing: its context, and a picture in three calls (vaBeginPicture, vaRenderPicture,
// vaEndPicture).
#pragma once

#include <memory>
#include <span>

#include <va/va.h>
#include <va/va_vpp.h>

#include <gst/drm/core/result.hpp>

#include "va_objects.hpp"
#include "va_patterns.hpp"

namespace gstdrm::va {

// A configuration of video processing and its context.
struct VideoContext {
  Config config;
  Context context; // destroyed before its configuration
};
Result<VideoContext> open_video_processing(const std::shared_ptr<Display> &display);

// Draws one picture with these parameter buffers.
Result<void> draw_picture(const Context &context, const Surface &target, std::span<VABufferID> ids);

VARectangle rectangle(const Rect &rect);
VAProcColorStandardType standard_of(Matrix matrix);

} // namespace gstdrm::va
