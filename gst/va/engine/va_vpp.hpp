// SPDX-License-Identifier: LGPL-2.1-or-later
// Video processing: composes a picture from prepared surfaces. All VA objects are made once. A
// picture takes three calls (vaBeginPicture, vaRenderPicture, vaEndPicture), however many pieces it
// has.
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

class Compositor {
public:
  // Makes one parameter buffer per piece. The caller owns the source surfaces, which outlive this
  // object.
  static Result<std::unique_ptr<Compositor>> create(const std::shared_ptr<Display> &display,
                                                    std::span<const VASurfaceID> sources,
                                                    Matrix matrix);
  // Draws each piece from the rectangle `from` of its source to the rectangle `to` of the target,
  // in order. Returns at once, while the device still draws.
  Result<void> compose(const Surface &target, std::span<const Piece> pieces);

private:
  Compositor(Context context, Config config)
      : config_(std::move(config)), context_(std::move(context))
  {
  }
  Result<void> add_piece(const std::shared_ptr<Display> &display, VASurfaceID source, Matrix matrix,
                         std::size_t index);

  Config config_;
  Context context_; // destroyed before its configuration
  // The rectangles that the parameter buffers point to, so these vectors are never reallocated.
  // Drivers read the rectangles in vaRenderPicture.
  std::vector<VARectangle> from_;
  std::vector<VARectangle> to_;
  std::vector<Buffer> buffers_;
  std::vector<VABufferID> ids_;
};

} // namespace gstdrm::va
