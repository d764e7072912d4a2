// SPDX-License-Identifier: LGPL-2.1-or-later
// What GL draws with. There are no pixels here.
#include <algorithm>

#include "fake_egl.hpp"

namespace gstdrm::test {
namespace {

// Functions whose arguments nothing here looks at: counted, and failed where a test says so.
template <typename... Arguments> struct Ignore {
  template <const char *(*name)()> static void GL_APIENTRY call(Arguments...)
  {
    FakeEgl::now().enter_gl(name());
  }
};

const char *shader_source()
{
  return "glShaderSource";
}
const char *compile_shader()
{
  return "glCompileShader";
}
const char *attach_shader()
{
  return "glAttachShader";
}
const char *bind_attrib_location()
{
  return "glBindAttribLocation";
}
const char *link_program()
{
  return "glLinkProgram";
}
const char *uniform_1i()
{
  return "glUniform1i";
}
const char *uniform_2f()
{
  return "glUniform2f";
}
const char *uniform_4f()
{
  return "glUniform4f";
}
const char *buffer_data()
{
  return "glBufferData";
}
const char *enable_vertex_attrib_array()
{
  return "glEnableVertexAttribArray";
}
const char *disable_vertex_attrib_array()
{
  return "glDisableVertexAttribArray";
}
const char *read_pixels()
{
  return "glReadPixels";
}
const char *pixel_storei()
{
  return "glPixelStorei";
}

void GL_APIENTRY color_mask(GLboolean red, GLboolean green, GLboolean blue, GLboolean alpha)
{
  FakeEgl &driver = FakeEgl::now();
  if (driver.enter_gl("glColorMask"))
    driver.second_color_mask = driver.color_mask = {red, green, blue, alpha};
}

void GL_APIENTRY color_mask_i(GLuint buffer, GLboolean red, GLboolean green, GLboolean blue,
                              GLboolean alpha)
{
  FakeEgl &driver = FakeEgl::now();
  if (driver.enter_gl("glColorMaski"))
    (buffer == 0 ? driver.color_mask : driver.second_color_mask) = {red, green, blue, alpha};
}

void turn_one(const char *function, GLenum what, GLuint buffer, bool on)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl(function))
    return;
  if (what != GL_BLEND && what != GL_SCISSOR_TEST)
    return driver.set_gl_error(GL_INVALID_ENUM);
  bool &second = what == GL_BLEND ? driver.second_blends : driver.second_is_cut;
  (buffer == 0 ? driver.enabled[what] : second) = on;
}

void GL_APIENTRY viewport(GLint left, GLint bottom, GLsizei width, GLsizei height)
{
  FakeEgl &driver = FakeEgl::now();
  if (driver.enter_gl("glViewport"))
    driver.viewport =
        driver.second_viewport = {static_cast<GLfloat>(left), static_cast<GLfloat>(bottom),
                                  static_cast<GLfloat>(width), static_cast<GLfloat>(height)};
}

void GL_APIENTRY viewport_i(GLuint index, const GLfloat *box)
{
  FakeEgl &driver = FakeEgl::now();
  if (driver.enter_gl("glViewportIndexedfv"))
    std::copy_n(box, 4, (index == 0 ? driver.viewport : driver.second_viewport).begin());
}

void GL_APIENTRY get_float_i(GLenum name, GLuint index, GLfloat *value)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glGetFloati_v"))
    return;
  if (name != GL_VIEWPORT)
    return driver.set_gl_error(GL_INVALID_ENUM);
  std::copy_n((index == 0 ? driver.viewport : driver.second_viewport).begin(), 4, value);
}

void GL_APIENTRY clip_control(GLenum origin, GLenum depth)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glClipControl"))
    return;
  if (depth != GL_ZERO_TO_ONE_EXT)
    return driver.set_gl_error(GL_INVALID_ENUM);
  driver.is_upside_down = origin == GL_UPPER_LEFT_EXT;
}

void GL_APIENTRY enable_i(GLenum what, GLuint buffer)
{
  turn_one("glEnablei", what, buffer, true);
}

void GL_APIENTRY disable_i(GLenum what, GLuint buffer)
{
  turn_one("glDisablei", what, buffer, false);
}

// One face alone is a thing of compatibility profiles.
void GL_APIENTRY polygon_mode(GLenum face, GLenum mode)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glPolygonMode"))
    return;
  if (driver.is_core_profile() && face != GL_FRONT_AND_BACK)
    return driver.set_gl_error(GL_INVALID_ENUM);
  if (face != GL_BACK)
    driver.polygon_mode[0] = static_cast<GLint>(mode);
  if (face != GL_FRONT)
    driver.polygon_mode[1] = static_cast<GLint>(mode);
}

void GL_APIENTRY bind_vertex_array(GLuint array)
{
  FakeEgl &driver = FakeEgl::now();
  if (driver.enter_gl("glBindVertexArray"))
    driver.vertex_array = array;
}

void GL_APIENTRY vertex_attrib_pointer(GLuint, GLint, GLenum, GLboolean, GLsizei, const void *)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glVertexAttribPointer"))
    return;
  if (driver.vertex_array != 0 && !driver.vertex_arrays.contains(driver.vertex_array))
    driver.foreign_attributes++;
}

void GL_APIENTRY bind_sampler(GLuint unit, GLuint sampler)
{
  FakeEgl &driver = FakeEgl::now();
  if (driver.enter_gl("glBindSampler"))
    driver.samplers[unit] = sampler;
}

void GL_APIENTRY blit_framebuffer(GLint, GLint, GLint, GLint, GLint, GLint, GLint, GLint,
                                  GLbitfield, GLenum)
{
  FakeEgl &driver = FakeEgl::now();
  driver.in_the_way.clear();
  if (!driver.enter_gl("glBlitFramebuffer"))
    return;
  if (driver.enabled[GL_SCISSOR_TEST])
    driver.in_the_way.emplace_back("scissor");
  if (driver.enabled[GL_RASTERIZER_DISCARD]) // NVIDIA's driver
    driver.in_the_way.emplace_back("rasterizer discard");
}

void GL_APIENTRY draw_arrays(GLenum, GLint, GLsizei)
{
  FakeEgl &driver = FakeEgl::now();
  driver.in_the_way.clear();
  if (!driver.enter_gl("glDrawArrays"))
    return;
  for (const auto &[what, is_on] : driver.enabled)
    if (is_on)
      driver.in_the_way.push_back("switch " + std::to_string(what));
  for (const GLboolean writes : driver.color_mask)
    if (!writes)
      driver.in_the_way.emplace_back("colour mask");
  if (driver.polygon_mode[0] != GL_FILL_NV || driver.polygon_mode[1] != GL_FILL_NV)
    driver.in_the_way.emplace_back("polygon mode");
  if (driver.is_upside_down)
    driver.in_the_way.emplace_back("clip origin");
  if (driver.viewport[0] != 0 || driver.viewport[1] != 0)
    driver.in_the_way.emplace_back("viewport");
  if (driver.samplers[driver.active_texture - GL_TEXTURE0] != 0)
    driver.in_the_way.emplace_back("sampler object");
}

template <typename Function> void *address(Function function)
{
  return reinterpret_cast<void *>(function);
}

const std::map<std::string, void *> &functions_by_name()
{
  static const std::map<std::string, void *> functions = {
      {"glViewport", address(viewport)},
      {"glViewportIndexedfv", address(viewport_i)},
      {"glViewportIndexedfvOES", address(viewport_i)},
      {"glGetFloati_v", address(get_float_i)},
      {"glGetFloati_vOES", address(get_float_i)},
      {"glClipControl", address(clip_control)},
      {"glClipControlEXT", address(clip_control)},
      {"glShaderSource",
       address(Ignore<GLuint, GLsizei, const GLchar *const *, const GLint *>::call<shader_source>)},
      {"glCompileShader", address(Ignore<GLuint>::call<compile_shader>)},
      {"glAttachShader", address(Ignore<GLuint, GLuint>::call<attach_shader>)},
      {"glBindAttribLocation",
       address(Ignore<GLuint, GLuint, const GLchar *>::call<bind_attrib_location>)},
      {"glLinkProgram", address(Ignore<GLuint>::call<link_program>)},
      {"glUniform1i", address(Ignore<GLint, GLint>::call<uniform_1i>)},
      {"glUniform2f", address(Ignore<GLint, GLfloat, GLfloat>::call<uniform_2f>)},
      {"glUniform4f", address(Ignore<GLint, GLfloat, GLfloat, GLfloat, GLfloat>::call<uniform_4f>)},
      {"glBufferData",
       address(Ignore<GLenum, GLsizeiptr, const void *, GLenum>::call<buffer_data>)},
      {"glVertexAttribPointer", address(vertex_attrib_pointer)},
      {"glEnableVertexAttribArray", address(Ignore<GLuint>::call<enable_vertex_attrib_array>)},
      {"glDisableVertexAttribArray", address(Ignore<GLuint>::call<disable_vertex_attrib_array>)},
      {"glDrawArrays", address(draw_arrays)},
      {"glColorMask", address(color_mask)},
      {"glColorMaski", address(color_mask_i)},
      {"glColorMaskiOES", address(color_mask_i)},
      {"glEnablei", address(enable_i)},
      {"glEnableiOES", address(enable_i)},
      {"glDisablei", address(disable_i)},
      {"glDisableiOES", address(disable_i)},
      {"glPolygonMode", address(polygon_mode)},
      {"glBindSampler", address(bind_sampler)},
      {"glBlitFramebuffer", address(blit_framebuffer)},
      {"glReadPixels",
       address(Ignore<GLint, GLint, GLsizei, GLsizei, GLenum, GLenum, void *>::call<read_pixels>)},
      {"glBindVertexArray", address(bind_vertex_array)},
      {"glPixelStorei", address(Ignore<GLenum, GLint>::call<pixel_storei>)},
  };
  return functions;
}

} // namespace

bool FakeEgl::is_core_profile() const
{
  return gl_version.find("Core Profile") != std::string::npos;
}

bool FakeEgl::has_gl_extension(const std::string &name) const
{
  return egl::names_in(gl_extensions.c_str()).contains(name);
}

bool FakeEgl::has_clip_control() const
{
  return is_gles() ? has_gl_extension("GL_EXT_clip_control")
                   : gl_version >= "4.5" || has_gl_extension("GL_ARB_clip_control");
}

void fake_gl_state(FakeEgl &driver, GLenum name, GLint *value)
{
  switch (name) {
  case 0x9126: // GL_CONTEXT_PROFILE_MASK
    *value = driver.is_core_profile() ? 1 : 2;
    if (driver.is_gles() || driver.gl_version < "3.2")
      driver.set_gl_error(GL_INVALID_ENUM);
    break;
  case GL_MAX_CLIP_DISTANCES_EXT:
    *value = 6;
    if (driver.is_gles() && !driver.has_gl_extension("GL_EXT_clip_cull_distance"))
      driver.set_gl_error(GL_INVALID_ENUM);
    break;
  case GL_CLIP_ORIGIN_EXT:
  case GL_CLIP_DEPTH_MODE_EXT:
    *value = name == GL_CLIP_DEPTH_MODE_EXT ? GL_ZERO_TO_ONE_EXT
             : driver.is_upside_down        ? GL_UPPER_LEFT_EXT
                                            : GL_LOWER_LEFT_EXT;
    if (!driver.has_clip_control())
      driver.set_gl_error(GL_INVALID_ENUM);
    break;
  case GL_VIEWPORT:
    std::copy(driver.viewport.begin(), driver.viewport.end(), value);
    break;
  default:
    break;
  }
}

void *fake_gl_drawing_function(const std::string &name)
{
  const auto found = functions_by_name().find(name);
  return found == functions_by_name().end() ? nullptr : found->second;
}

} // namespace gstdrm::test
