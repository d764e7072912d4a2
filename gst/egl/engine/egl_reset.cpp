// SPDX-License-Identifier: LGPL-2.1-or-later
#include "egl_reset.hpp"

#include "egl_device.hpp"
#include "egl_error.hpp"

namespace gstdrm::egl {
namespace {

constexpr unsigned kGlContextLost = 0x0507; // GL_CONTEXT_LOST

} // namespace

// The extensions come first: a driver's core function may be missing from an older libGLESv2.
PFNGLGETGRAPHICSRESETSTATUSKHRPROC reset_status_function(const GlCalls &gl, const Driver &driver,
                                                         const Names &extensions)
{
  const bool has_khr = extensions.contains("GL_KHR_robustness");
  if (driver.is_gles) {
    if (has_khr && gl.get_reset_status_khr)
      return gl.get_reset_status_khr;
    if (extensions.contains("GL_EXT_robustness") && gl.get_reset_status_ext)
      return gl.get_reset_status_ext;
    return driver.is_gl(3, 2) ? gl.get_reset_status : nullptr;
  }
  // desktop GL has the names of GL_KHR_robustness without a suffix
  if ((has_khr || driver.is_gl(4, 5)) && gl.get_reset_status)
    return gl.get_reset_status;
  return extensions.contains("GL_ARB_robustness") ? gl.get_reset_status_arb : nullptr;
}

bool is_told_of_resets(const GlCalls &gl)
{
  GLint strategy = GL_NO_RESET_NOTIFICATION_KHR; // stays where the driver does not know the name
  gl.get_integerv(GL_RESET_NOTIFICATION_STRATEGY_KHR, &strategy);
  return strategy == GL_LOSE_CONTEXT_ON_RESET_KHR;
}

bool is_loss(unsigned error) noexcept
{
  return error == kGlContextLost || error == EGL_CONTEXT_LOST;
}

std::string describe_loss(unsigned number)
{
  switch (number) {
  case GL_GUILTY_CONTEXT_RESET_KHR:
    return "GL_GUILTY_CONTEXT_RESET (0x8253), the GPU was reset because of what this context drew";
  case GL_INNOCENT_CONTEXT_RESET_KHR:
    return "GL_INNOCENT_CONTEXT_RESET (0x8254), the GPU was reset because of another program or "
           "context";
  case GL_UNKNOWN_CONTEXT_RESET_KHR:
    return "GL_UNKNOWN_CONTEXT_RESET (0x8255), the GPU was reset";
  case EGL_CONTEXT_LOST:
    return egl_error_name(EGL_CONTEXT_LOST) + ", the GPU was reset or the machine slept";
  default:
    return gl_error_name(number) + ", the GPU was reset";
  }
}

} // namespace gstdrm::egl
