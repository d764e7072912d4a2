// SPDX-License-Identifier: LGPL-2.1-or-later
#include "egl_calls.hpp"

#include <cstring>
#include <string>
#include <string_view>

namespace gstdrm::egl {
namespace {

enum class Need { Always, Extension };

// Fills in functions one by one, and remembers the first that is missing.
class Filler {
public:
  explicit Filler(const Loader &loader) : loader_(loader) {}

  template <typename Function>
  Filler &take(Function &into, const char *name, Need need = Need::Always)
  {
    into = reinterpret_cast<Function>(loader_ ? loader_(name) : nullptr);
    if (!into && need == Need::Always && !missing_)
      missing_ = name;
    return *this;
  }

  [[nodiscard]] Result<void> outcome(const char *what) const
  {
    if (!missing_)
      return {};
    return Error{ErrorCode::Unsupported,
                 std::string("The ") + what + " has no " + missing_ +
                     "(), which every driver has; check that libEGL and the GL driver belong "
                     "together",
                 0};
  }

private:
  const Loader &loader_;
  const char *missing_ = nullptr;
};

Result<void> load_egl(EglCalls &egl, const Loader &loader)
{
  return Filler(loader)
      .take(egl.get_error, "eglGetError")
      .take(egl.query_string, "eglQueryString")
      .take(egl.get_current_display, "eglGetCurrentDisplay")
      .take(egl.create_image, "eglCreateImageKHR", Need::Extension)
      .take(egl.destroy_image, "eglDestroyImageKHR", Need::Extension)
      .take(egl.query_formats, "eglQueryDmaBufFormatsEXT", Need::Extension)
      .take(egl.query_modifiers, "eglQueryDmaBufModifiersEXT", Need::Extension)
      .take(egl.create_sync, "eglCreateSyncKHR", Need::Extension)
      .take(egl.destroy_sync, "eglDestroySyncKHR", Need::Extension)
      .take(egl.client_wait_sync, "eglClientWaitSyncKHR", Need::Extension)
      .take(egl.wait_sync, "eglWaitSyncKHR", Need::Extension)
      .take(egl.dup_native_fence_fd, "eglDupNativeFenceFDANDROID", Need::Extension)
      .take(egl.query_display_attrib, "eglQueryDisplayAttribEXT", Need::Extension)
      .take(egl.query_device_string, "eglQueryDeviceStringEXT", Need::Extension)
      .outcome("EGL library");
}

void load_gl_state(Filler &filler, GlCalls &gl)
{
  filler.take(gl.get_error, "glGetError")
      .take(gl.get_string, "glGetString")
      .take(gl.get_stringi, "glGetStringi", Need::Extension)
      .take(gl.get_integerv, "glGetIntegerv")
      .take(gl.is_enabled, "glIsEnabled")
      .take(gl.enable, "glEnable")
      .take(gl.disable, "glDisable")
      .take(gl.flush, "glFlush")
      .take(gl.finish, "glFinish")
      .take(gl.gen_textures, "glGenTextures")
      .take(gl.delete_textures, "glDeleteTextures")
      .take(gl.active_texture, "glActiveTexture")
      .take(gl.bind_texture, "glBindTexture")
      .take(gl.tex_parameteri, "glTexParameteri")
      .take(gl.image_target_texture_2d, "glEGLImageTargetTexture2DOES", Need::Extension)
      .take(gl.get_reset_status, "glGetGraphicsResetStatus", Need::Extension)
      .take(gl.get_reset_status_khr, "glGetGraphicsResetStatusKHR", Need::Extension)
      .take(gl.get_reset_status_ext, "glGetGraphicsResetStatusEXT", Need::Extension)
      .take(gl.get_reset_status_arb, "glGetGraphicsResetStatusARB", Need::Extension);
}

void load_gl_indexed_state(Filler &filler, GlCalls &gl)
{
  filler.take(gl.color_mask_i, "glColorMaski", Need::Extension)
      .take(gl.color_mask_i_oes, "glColorMaskiOES", Need::Extension)
      .take(gl.viewport_i, "glViewportIndexedfv", Need::Extension)
      .take(gl.viewport_i_oes, "glViewportIndexedfvOES", Need::Extension)
      .take(gl.get_float_i, "glGetFloati_v", Need::Extension)
      .take(gl.get_float_i_oes, "glGetFloati_vOES", Need::Extension)
      .take(gl.enable_i, "glEnablei", Need::Extension)
      .take(gl.enable_i_oes, "glEnableiOES", Need::Extension)
      .take(gl.disable_i, "glDisablei", Need::Extension)
      .take(gl.disable_i_oes, "glDisableiOES", Need::Extension)
      .take(gl.clip_control, "glClipControl", Need::Extension)
      .take(gl.clip_control_ext, "glClipControlEXT", Need::Extension)
      .take(gl.polygon_mode, "glPolygonMode", Need::Extension);
}

void load_gl_drawing(Filler &filler, GlCalls &gl)
{
  filler.take(gl.gen_framebuffers, "glGenFramebuffers")
      .take(gl.delete_framebuffers, "glDeleteFramebuffers")
      .take(gl.bind_framebuffer, "glBindFramebuffer")
      .take(gl.framebuffer_texture_2d, "glFramebufferTexture2D")
      .take(gl.check_framebuffer_status, "glCheckFramebufferStatus")
      .take(gl.viewport, "glViewport")
      .take(gl.color_mask, "glColorMask")
      .take(gl.bind_sampler, "glBindSampler", Need::Extension)
      .take(gl.gen_buffers, "glGenBuffers")
      .take(gl.delete_buffers, "glDeleteBuffers")
      .take(gl.bind_buffer, "glBindBuffer")
      .take(gl.buffer_data, "glBufferData")
      .take(gl.vertex_attrib_pointer, "glVertexAttribPointer")
      .take(gl.enable_vertex_attrib_array, "glEnableVertexAttribArray")
      .take(gl.disable_vertex_attrib_array, "glDisableVertexAttribArray")
      .take(gl.draw_arrays, "glDrawArrays")
      .take(gl.gen_vertex_arrays, "glGenVertexArrays", Need::Extension)
      .take(gl.bind_vertex_array, "glBindVertexArray", Need::Extension)
      .take(gl.delete_vertex_arrays, "glDeleteVertexArrays", Need::Extension)
      .take(gl.blit_framebuffer, "glBlitFramebuffer", Need::Extension)
      .take(gl.read_pixels, "glReadPixels")
      .take(gl.pixel_storei, "glPixelStorei");
}

void load_gl_programs(Filler &filler, GlCalls &gl)
{
  filler.take(gl.create_shader, "glCreateShader")
      .take(gl.delete_shader, "glDeleteShader")
      .take(gl.shader_source, "glShaderSource")
      .take(gl.compile_shader, "glCompileShader")
      .take(gl.get_shaderiv, "glGetShaderiv")
      .take(gl.get_shader_info_log, "glGetShaderInfoLog")
      .take(gl.create_program, "glCreateProgram")
      .take(gl.delete_program, "glDeleteProgram")
      .take(gl.attach_shader, "glAttachShader")
      .take(gl.bind_attrib_location, "glBindAttribLocation")
      .take(gl.link_program, "glLinkProgram")
      .take(gl.get_programiv, "glGetProgramiv")
      .take(gl.get_program_info_log, "glGetProgramInfoLog")
      .take(gl.use_program, "glUseProgram")
      .take(gl.get_uniform_location, "glGetUniformLocation")
      .take(gl.uniform_1i, "glUniform1i")
      .take(gl.uniform_2f, "glUniform2f")
      .take(gl.uniform_4f, "glUniform4f");
}

} // namespace

Result<Calls> load_calls(const Loader &egl, const Loader &gl)
{
  Calls calls;
  if (Result<void> loaded = load_egl(calls.egl, egl); !loaded)
    return loaded.error();
  Result<GlCalls> loaded = load_gl_calls(gl);
  if (!loaded)
    return loaded.error();
  calls.gl = *loaded;
  return calls;
}

Result<GlCalls> load_gl_calls(const Loader &loader)
{
  GlCalls gl;
  Filler filler(loader);
  load_gl_state(filler, gl);
  load_gl_indexed_state(filler, gl);
  load_gl_drawing(filler, gl);
  load_gl_programs(filler, gl);
  if (Result<void> loaded = filler.outcome("GL driver"); !loaded)
    return loaded.error();
  return gl;
}

bool has_extension(const char *list, const char *name) noexcept
{
  if (!list || !name || *name == '\0')
    return false;
  const std::string_view wanted(name);
  std::string_view rest(list);
  while (!rest.empty()) {
    const std::size_t end = rest.find(' ');
    if (rest.substr(0, end) == wanted)
      return true;
    if (end == std::string_view::npos)
      return false;
    rest.remove_prefix(end + 1);
  }
  return false;
}

} // namespace gstdrm::egl
