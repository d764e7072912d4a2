// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/gst.h>

namespace gstdrm::test {

// Before gst_init(): GStreamer's OpenGL on Mesa's software renderer, which 1.22 reaches by a device
// alone. What the environment says already stays.
inline void use_no_display_server()
{
  g_setenv("GST_GL_PLATFORM", "egl", FALSE);
  g_setenv("GST_GL_API", "gles2", FALSE);
  g_setenv("GST_GL_WINDOW", GST_CHECK_VERSION(1, 24, 0) ? "surfaceless" : "egl-device", FALSE);
}

} // namespace gstdrm::test
