// SPDX-License-Identifier: LGPL-2.1-or-later
// RGBA that GL draws of imported planes.
#pragma once

#include <cstdint>
#include <memory>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/gl/gl.h>

#include "engine/gl_planes.hpp"
#include "gstegltexturepool.hpp"
#include "gstglthread.hpp"

namespace gstdrm {

// Into textures of a TexturePool of its own. Belongs to the streaming thread, except where a
// function says otherwise.
class DrawnFrames {
public:
  explicit DrawnFrames(GstElement *element) : element_(element) {}
  DrawnFrames(const DrawnFrames &) = delete;
  DrawnFrames &operator=(const DrawnFrames &) = delete;
  ~DrawnFrames() { close(); }

  // The frames that follow are of this kind; `out_caps` are those of the RGBA textures, 2D, of
  // which downstream keeps so many. Nothing is made before the first frame.
  void begin(std::shared_ptr<GlThread> thread, std::uint32_t fourcc, const egl::YuvColours &colours,
             GstCaps *out_caps, guint kept_downstream);
  void close();
  // A texture to draw into; see TexturePool::acquire().
  Result<GstPtr<GstBuffer>> acquire();
  // On the GL thread: draws, and sets the buffer's sync point behind that. Error of code Import
  // where the driver does not draw it.
  Result<void> draw(const egl::ImportedFrame &planes, GstBuffer *into);
  // Any thread; see TexturePool::set_flushing().
  void set_flushing(bool flushing) { pool_.set_flushing(flushing); }

private:
  Result<void> draw_into(const egl::ImportedFrame &planes, GstMemory *texture);

  GstElement *const element_; // borrowed: it owns this
  std::shared_ptr<GlThread> thread_;
  GstPtr<GstCaps> out_caps_;
  GstVideoInfo out_{};
  std::uint32_t fourcc_ = 0;
  egl::YuvColours colours_;
  guint kept_downstream_ = 0;
  TexturePool pool_;
  std::shared_ptr<egl::PlanesPainter> painter_;
};

} // namespace gstdrm
