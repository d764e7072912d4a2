// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink: where on the screen the picture goes, and how (GstVideoOverlay, and the
// properties' part of it).
#include "gstkmsdmabufsink.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

namespace {

// There are no windows on a bare display.
void set_window_handle(GstVideoOverlay *overlay, guintptr) noexcept
{
  GST_DEBUG_OBJECT(overlay, "the window handle is ignored");
}

// The interface's function has checked the sizes: both above 0, or both -1 for the whole screen.
void set_render_rectangle(GstVideoOverlay *overlay, gint x, gint y, gint width,
                          gint height) noexcept
try {
  SinkState &state = *GST_KMS_DMABUF_SINK(overlay)->state;
  {
    const std::lock_guard guard(state.lock);
    std::optional<kms::Rectangle> &area = state.settings.view.area;
    if (width > 0 && height > 0)
      area = kms::Rectangle{x, y, static_cast<std::uint32_t>(width),
                            static_cast<std::uint32_t>(height)};
    else
      area.reset();
  }
  sink_apply_view(state);
} catch (...) {
  caught(__func__);
}

void expose(GstVideoOverlay *overlay) noexcept
try {
  sink_repeat_frame(GST_VIDEO_SINK(overlay));
} catch (...) {
  caught(__func__);
}

} // namespace

void sink_apply_view(SinkState &state)
{
  const std::lock_guard guard(state.lock);
  if (state.display)
    state.display->set_view(state.settings.view);
}

void sink_overlay_init(GstVideoOverlayInterface *iface) noexcept
{
  iface->set_window_handle = set_window_handle;
  iface->set_render_rectangle = set_render_rectangle;
  iface->expose = expose;
}

void SinkListener::picture_placed(const std::string &where) noexcept
{
  GST_INFO_OBJECT(sink_, "showing on %s", where.c_str());
}

void SinkListener::view_refused(const Error &error) noexcept
{
  GST_ELEMENT_WARNING(sink_, RESOURCE, SETTINGS,
                      ("The picture stays as it was. %s", error.message.c_str()),
                      ("errno %d", error.sys_errno));
}

} // namespace gstdrm
