// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinkoverlay.hpp"

#include <cstdint>

#include <gst/drm/gstdrm-guard-private.hpp>

#include "gstkmsdmabufsink.hpp"
#include "gstkmssink.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

namespace {

// There are no windows on a bare display.
void set_window_handle(GstVideoOverlay *overlay, guintptr) noexcept
{
  GST_DEBUG_OBJECT(overlay, "the window handle is ignored");
}

// The interface's function has checked the sizes: both above 0, or both -1 for the whole screen.
void set_render_rectangle(GstVideoOverlay *overlay, gint x, gint y, gint width, gint height)
{
  GST_KMS_DMABUF_SINK(overlay)->sink->display().change_view([=](kms::View &view) {
    if (width > 0 && height > 0)
      view.area = kms::Rectangle{x, y, static_cast<std::uint32_t>(width),
                                 static_cast<std::uint32_t>(height)};
    else
      view.area.reset();
  });
}

void expose(GstVideoOverlay *overlay)
{
  GST_KMS_DMABUF_SINK(overlay)->sink->repeat_frame();
}

} // namespace

void sink_overlay_init(GstVideoOverlayInterface *iface) noexcept
{
  iface->set_window_handle = set_window_handle;
  iface->set_render_rectangle = logging<set_render_rectangle>;
  iface->expose = logging<expose>;
}

} // namespace gstdrm
