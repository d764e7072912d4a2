// SPDX-License-Identifier: LGPL-2.1-or-later
// GstVideoOverlay of kmsdmabufsink: where on the screen the picture goes.
#pragma once

#include <gst/video/videooverlay.h>

namespace gstdrm {

void sink_overlay_init(GstVideoOverlayInterface *iface) noexcept;

} // namespace gstdrm
