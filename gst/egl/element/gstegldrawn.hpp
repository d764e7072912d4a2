// SPDX-License-Identifier: LGPL-2.1-or-later
// RGBA that GL draws of imported planes.
#pragma once

#include <cstdint>
#include <memory>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/gl/gl.h>

#include "engine/gl_planes.hpp"
#include "gstglthread.hpp"

namespace gstdrm {

// Into textures of a pool of its own, which grows as downstream keeps buffers. Belongs to the
// streaming thread, except where a function says otherwise.
class DrawnFrames {
public:
  DrawnFrames() = default;
  DrawnFrames(const DrawnFrames &) = delete;
  DrawnFrames &operator=(const DrawnFrames &) = delete;
  ~DrawnFrames() { close(); }

  // The frames that follow are of this kind; `out_caps` are those of the RGBA textures, 2D. Nothing
  // is made before the first frame.
  void begin(std::shared_ptr<GlThread> thread, std::uint32_t fourcc, const egl::YuvColours &colours,
             GstCaps *out_caps);
  void close();
  // A texture to draw into. Error of code Allocation.
  Result<GstPtr<GstBuffer>> acquire();
  // On the GL thread: draws, and sets the buffer's sync point behind that. Error of code Import
  // where the driver does not draw it.
  Result<void> draw(const egl::ImportedFrame &planes, GstBuffer *into);

private:
  Result<void> draw_into(const egl::ImportedFrame &planes, GstMemory *texture);

  std::shared_ptr<GlThread> thread_;
  GstPtr<GstCaps> out_caps_;
  GstVideoInfo out_{};
  std::uint32_t fourcc_ = 0;
  egl::YuvColours colours_;
  GstPtr<GstBufferPool> pool_;
  std::shared_ptr<egl::PlanesPainter> painter_;
};

} // namespace gstdrm
