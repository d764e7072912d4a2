// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gl_version.hpp"

#include <algorithm>

namespace gstdrm::egl {
namespace {

// `function` of the version, else `of_extension`, else none: always in `function`.
template <typename Function>
void choose(Function &function, Function &of_extension, bool has_version, bool has_extension)
{
  if (!has_version)
    function = has_extension ? of_extension : nullptr;
  of_extension = nullptr;
}

void keep_indexed_state(GlCalls &gl, const Driver &driver, const Names &extensions)
{
  const auto has = [&](const char *name) { return driver.is_gles && extensions.contains(name); };
  const bool buffers = driver.is_gl(3, driver.is_gles ? 2 : 0);
  const bool buffers_oes = has("GL_OES_draw_buffers_indexed");
  const bool viewports =
      !driver.is_gles && (driver.is_gl(4, 1) || extensions.contains("GL_ARB_viewport_array"));
  const bool viewports_oes = has("GL_OES_viewport_array");
  choose(gl.color_mask_i, gl.color_mask_i_oes, buffers, buffers_oes);
  choose(gl.viewport_i, gl.viewport_i_oes, viewports, viewports_oes);
  choose(gl.get_float_i, gl.get_float_i_oes, viewports, viewports_oes);
  choose(gl.enable_i, gl.enable_i_oes, buffers || viewports, buffers_oes || viewports_oes);
  choose(gl.disable_i, gl.disable_i_oes, buffers || viewports, buffers_oes || viewports_oes);
  choose(gl.clip_control, gl.clip_control_ext,
         !driver.is_gles && (driver.is_gl(4, 5) || extensions.contains("GL_ARB_clip_control")),
         has("GL_EXT_clip_control"));
  if (driver.is_gles)
    gl.polygon_mode = nullptr;
}

} // namespace

Names gl_extensions(const GlCalls &gl, const Driver &driver)
{
  if (!gl.get_stringi || !driver.is_gl(3, 0))
    return names_in(reinterpret_cast<const char *>(gl.get_string(GL_EXTENSIONS)));
  Names names;
  GLint count = 0; // the list as one string is an error in core profiles
  gl.get_integerv(GL_NUM_EXTENSIONS, &count);
  for (GLint i = 0; i < count; ++i) {
    const GLubyte *const name = gl.get_stringi(GL_EXTENSIONS, static_cast<GLuint>(i));
    if (!name) // a lost context, or fewer than were counted
      break;
    names.insert(reinterpret_cast<const char *>(name));
  }
  return names;
}

bool has_fixed_functions(const GlCalls &gl, const Driver &driver, const Names &extensions)
{
  constexpr GLenum kProfileMask = 0x9126;    // GL_CONTEXT_PROFILE_MASK
  constexpr GLint kCompatibilityProfile = 2; // GL_CONTEXT_COMPATIBILITY_PROFILE_BIT
  if (driver.is_gles)
    return false;
  if (!driver.is_gl(3, 1) || extensions.contains("GL_ARB_compatibility"))
    return true;
  GLint profile = 0;
  if (driver.is_gl(3, 2))
    gl.get_integerv(kProfileMask, &profile);
  return (profile & kCompatibilityProfile) != 0;
}

unsigned count_clip_distances(const GlCalls &gl, const Driver &driver, const Names &extensions)
{
  if (driver.is_gles && !extensions.contains("GL_EXT_clip_cull_distance"))
    return 0;
  GLint count = 0;
  gl.get_integerv(GL_MAX_CLIP_DISTANCES_EXT, &count);
  return static_cast<unsigned>(std::max(count, 0));
}

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

void keep_what_is_there(GlCalls &gl, const Driver &driver, const Names &extensions)
{
  if (!extensions.contains("GL_OES_EGL_image") && !extensions.contains("GL_OES_EGL_image_external"))
    gl.image_target_texture_2d = nullptr;
  if (!driver.is_gl(3, driver.is_gles ? 0 : 3) && !extensions.contains("GL_ARB_sampler_objects"))
    gl.bind_sampler = nullptr;
  keep_indexed_state(gl, driver, extensions);
  if (driver.is_gl(3, 0))
    return;
  gl.get_stringi = nullptr;
  gl.blit_framebuffer = nullptr;
  if (!extensions.contains("GL_ARB_vertex_array_object")) {
    gl.gen_vertex_arrays = nullptr;
    gl.bind_vertex_array = nullptr;
    gl.delete_vertex_arrays = nullptr;
  }
}

} // namespace gstdrm::egl
