// SPDX-License-Identifier: LGPL-2.1-or-later
// Which pairs an EGL display imports (EGL_EXT_image_dma_buf_import_modifiers).
#pragma once

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/core/result.hpp>

#include "egl_calls.hpp"

namespace gstdrm::egl {

// The two sets are without pairs in common. Implicit members stand for formats that the display
// lists without any modifier.
struct DisplayFormats {
  FormatSet texture_2d;    // can be textures of any target
  FormatSet external_only; // GL_TEXTURE_EXTERNAL_OES alone
  [[nodiscard]] FormatSet all() const { return FormatSet::unite(texture_2d, external_only); }
};

// Asks the display for everything it lists; each format costs two calls, once. Error of code
// Unsupported where the display has no EGL_EXT_image_dma_buf_import. A display with that extension
// alone lists nothing: its formats are the implicit members of what Linux drivers took before
// modifiers (XR24, AR24, XB24, AB24, RG16, R8, GR88, NV12, YU12).
Result<DisplayFormats> query_formats(const EglCalls &egl, EGLDisplay display);

} // namespace gstdrm::egl
