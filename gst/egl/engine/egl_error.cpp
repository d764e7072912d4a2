// SPDX-License-Identifier: LGPL-2.1-or-later
#include "egl_error.hpp"

#include <array>
#include <cstdio>

namespace gstdrm::egl {
namespace {

struct EglError {
  EGLint number;
  const char *name;
  // Of eglCreateImageKHR() with EGL_LINUX_DMA_BUF_EXT; nullptr where the specification says nothing
  const char *import_meaning;
};

// EGL 1.5, 3.1 "Errors"; EGL_KHR_image_base; EGL_EXT_image_dma_buf_import and _modifiers; for the
// GPU's memory EGL_EXT_device_base and EGL_KHR_stream have more, which no import gives.
constexpr std::array kEglErrors = {
    EglError{EGL_SUCCESS, "EGL_SUCCESS", nullptr},
    EglError{EGL_NOT_INITIALIZED, "EGL_NOT_INITIALIZED", "the display was terminated"},
    EglError{EGL_BAD_ACCESS, "EGL_BAD_ACCESS",
             "the driver does not support the stride or the offset of one of the planes"},
    EglError{EGL_BAD_ALLOC, "EGL_BAD_ALLOC",
             "the driver could not take the buffer: no memory is left, the descriptor is no "
             "dma-buf of use to it, or its strides, offsets and sizes do not suit the hardware"},
    EglError{EGL_BAD_ATTRIBUTE, "EGL_BAD_ATTRIBUTE",
             "an attribute is not known to the driver, or belongs to a plane that the format does "
             "not have"},
    EglError{EGL_BAD_CONFIG, "EGL_BAD_CONFIG", nullptr},
    EglError{EGL_BAD_CONTEXT, "EGL_BAD_CONTEXT", "the GL context is no longer there"},
    EglError{EGL_BAD_CURRENT_SURFACE, "EGL_BAD_CURRENT_SURFACE", nullptr},
    EglError{EGL_BAD_DISPLAY, "EGL_BAD_DISPLAY", "the display is no longer there"},
    EglError{EGL_BAD_MATCH, "EGL_BAD_MATCH",
             "the driver does not support the format or the modifier, or the modifiers of the "
             "planes differ"},
    EglError{EGL_BAD_NATIVE_PIXMAP, "EGL_BAD_NATIVE_PIXMAP", nullptr},
    EglError{EGL_BAD_NATIVE_WINDOW, "EGL_BAD_NATIVE_WINDOW", nullptr},
    EglError{EGL_BAD_PARAMETER, "EGL_BAD_PARAMETER",
             "the list of attributes is incomplete: the format or the modifier has more planes "
             "than were given"},
    EglError{EGL_BAD_SURFACE, "EGL_BAD_SURFACE", nullptr},
    EglError{EGL_CONTEXT_LOST, "EGL_CONTEXT_LOST",
             "the GPU was reset or the machine slept, and the context is lost"},
    EglError{EGL_BAD_DEVICE_EXT, "EGL_BAD_DEVICE_EXT", "the EGL device is no longer there"},
};

const EglError *find(EGLint number) noexcept
{
  for (const EglError &error : kEglErrors)
    if (error.number == number)
      return &error;
  return nullptr;
}

struct GlError {
  GLenum number;
  const char *name;
};

// GL ES 3.2, 2.3.1 "Errors". GL_CONTEXT_LOST and the two of the stacks are not in gl3.h.
constexpr std::array kGlErrors = {
    GlError{GL_NO_ERROR, "GL_NO_ERROR"},
    GlError{GL_INVALID_ENUM, "GL_INVALID_ENUM"},
    GlError{GL_INVALID_VALUE, "GL_INVALID_VALUE"},
    GlError{GL_INVALID_OPERATION, "GL_INVALID_OPERATION"},
    GlError{0x0503, "GL_STACK_OVERFLOW"},
    GlError{0x0504, "GL_STACK_UNDERFLOW"},
    GlError{GL_OUT_OF_MEMORY, "GL_OUT_OF_MEMORY"},
    GlError{GL_INVALID_FRAMEBUFFER_OPERATION, "GL_INVALID_FRAMEBUFFER_OPERATION"},
    GlError{0x0507, "GL_CONTEXT_LOST"},
};

std::string hexadecimal(unsigned number)
{
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%04x", number);
  return text.data();
}

std::string named(const char *name, unsigned number)
{
  return name ? std::string(name) + " (" + hexadecimal(number) + ")" : hexadecimal(number);
}

} // namespace

std::string egl_error_name(EGLint error)
{
  const EglError *const found = find(error);
  return named(found ? found->name : nullptr, static_cast<unsigned>(error));
}

const char *import_error_meaning(EGLint error) noexcept
{
  const EglError *const found = find(error);
  return found && found->import_meaning ? found->import_meaning : "";
}

std::string gl_error_name(GLenum error)
{
  for (const GlError &known : kGlErrors)
    if (known.number == error)
      return named(known.name, error);
  return named(nullptr, error);
}

std::string describe_layout(const FrameLayout &layout)
{
  std::string text = describe_format(layout.format) + ", " + std::to_string(layout.width) + "x" +
                     std::to_string(layout.height);
  for (std::size_t i = 0; i < layout.n_planes && i < layout.planes.size(); ++i) {
    const PlaneLayout &plane = layout.planes[i];
    text += "; plane " + std::to_string(i) + ": fd " + std::to_string(plane.fd) + ", offset " +
            std::to_string(plane.offset_bytes) + ", stride " + std::to_string(plane.stride_bytes) +
            ", in " + std::to_string(plane.object.size_bytes) + " bytes";
  }
  return text;
}

} // namespace gstdrm::egl
