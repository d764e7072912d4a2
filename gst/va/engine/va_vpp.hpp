// SPDX-License-Identifier: LGPL-2.1-or-later
// Video processing: composes a picture from prepared surfaces. All VA objects are made once. A
// picture takes three calls (vaBeginPicture, vaRenderPicture, vaEndPicture) for all its pieces;
// three calls for each piece with drivers that use one parameter buffer per picture.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

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

class Compositor {
public:
  // Makes one parameter buffer per piece. The caller owns the source surfaces, which outlive this
  // object.
  static Result<std::unique_ptr<Compositor>> create(const std::shared_ptr<Display> &display,
                                                    std::span<const VASurfaceID> sources,
                                                    Matrix matrix);
  // Draws each piece from the rectangle `from` of its source to the rectangle `to` of the target,
  // in order. Returns while the device still draws.
  Result<void> compose(const Surface &target, std::span<const Piece> pieces);

private:
  explicit Compositor(VideoContext context) : context_(std::move(context)) {}
  Result<void> add_piece(const std::shared_ptr<Display> &display, VASurfaceID source, Matrix matrix,
                         std::size_t index);

  VideoContext context_;
  // The rectangles that the parameter buffers point to, so these vectors are never reallocated.
  // Drivers read the rectangles in vaRenderPicture, or, as i965 does, in
  // vaEndPicture.
  std::vector<VARectangle> from_;
  std::vector<VARectangle> to_;
  std::vector<Buffer> buffers_;
  std::vector<VABufferID> ids_;
  std::size_t at_once_ = 0; // parameter buffers of one picture
};

} // namespace gstdrm::va
