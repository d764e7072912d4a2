// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstegldrawn.hpp"

#include <utility>

namespace gstdrm {

void DrawnFrames::begin(std::shared_ptr<GlThread> thread, std::uint32_t fourcc,
                        const egl::YuvColours &colours, GstCaps *out_caps, guint kept_downstream)
{
  close();
  thread_ = std::move(thread);
  out_caps_ = GstPtr<GstCaps>::share(out_caps);
  gst_video_info_from_caps(&out_, out_caps);
  fourcc_ = fourcc;
  colours_ = colours;
  kept_downstream_ = kept_downstream;
}

void DrawnFrames::close()
{
  pool_.close();
  painter_.reset();
  out_caps_.reset();
  thread_.reset();
}

Result<GstPtr<GstBuffer>> DrawnFrames::acquire()
{
  if (!pool_.is_open())
    if (Result<void> opened = pool_.open(element_, thread_->context(), out_caps_.get(), out_,
                                         SyncPoints::OfEachBuffer, kept_downstream_);
        !opened)
      return opened.error();
  return pool_.acquire();
}

Result<void> DrawnFrames::draw_into(const egl::ImportedFrame &planes, GstMemory *texture)
{
  if (!painter_) {
    auto painter = egl::PlanesPainter::make(thread_->device(), fourcc_);
    if (!painter)
      return painter.error();
    painter_ = destroy_on(thread_, std::shared_ptr<egl::PlanesPainter>(std::move(*painter)));
  }
  GstMapInfo map; // tells GstGLMemory that what it has read before is old
  if (!gst_memory_map(texture, &map, static_cast<GstMapFlags>(GST_MAP_WRITE | GST_MAP_GL)))
    return Error{ErrorCode::Allocation, "GStreamer maps no texture of its own for drawing", 0};
  Result<void> drawn = painter_->draw(planes, colours_, *reinterpret_cast<guint *>(map.data));
  gst_memory_unmap(texture, &map);
  return drawn;
}

Result<void> DrawnFrames::draw(const egl::ImportedFrame &planes, GstBuffer *into)
{
  if (Result<void> drawn = draw_into(planes, gst_buffer_peek_memory(into, 0)); !drawn)
    return Error{drawn.error().code == ErrorCode::Device ? ErrorCode::Import : drawn.error().code,
                 drawn.error().message, drawn.error().sys_errno};
  // also a flush: behind it drivers know what reads the frame
  gst_gl_sync_meta_set_sync_point(gst_buffer_get_gl_sync_meta(into), thread_->context());
  return {};
}

} // namespace gstdrm
