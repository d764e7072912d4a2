// SPDX-License-Identifier: LGPL-2.1-or-later
// What EGL and GL say when something fails, in words.
#pragma once

#include <string>

#include <gst/drm/core/frame_layout.hpp>

#include "egl_calls.hpp"

namespace gstdrm::egl {

// "EGL_BAD_MATCH (0x3009)"; the number alone where the specification has no such error.
std::string egl_error_name(EGLint error);
// What the error means for eglCreateImageKHR() of a dma-buf, in a sentence of the extension's words
// (EGL_EXT_image_dma_buf_import, "Errors"). Empty where it says nothing of it.
const char *import_error_meaning(EGLint error) noexcept;
// "GL_INVALID_OPERATION (0x0502)"
std::string gl_error_name(GLenum error);

// The end of a sentence about a driver that fails in what each driver does.
constexpr const char *kUpdateDriver = "; update the GPU's driver";

// All that was asked for: "NV12:0x… (…), 640x480; plane 0: fd 7, offset 0, stride 640, in 460800
// bytes; plane 1: …".
std::string describe_layout(const FrameLayout &layout);

} // namespace gstdrm::egl
