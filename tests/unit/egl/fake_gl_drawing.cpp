// SPDX-License-Identifier: LGPL-2.1-or-later
// What GL draws with. There are no pixels here.
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

const char *viewport()
{
  return "glViewport";
}
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
const char *vertex_attrib_pointer()
{
  return "glVertexAttribPointer";
}
const char *enable_vertex_attrib_array()
{
  return "glEnableVertexAttribArray";
}
const char *disable_vertex_attrib_array()
{
  return "glDisableVertexAttribArray";
}
const char *blit_framebuffer()
{
  return "glBlitFramebuffer";
}
const char *read_pixels()
{
  return "glReadPixels";
}
const char *bind_vertex_array()
{
  return "glBindVertexArray";
}
const char *pixel_storei()
{
  return "glPixelStorei";
}

void GL_APIENTRY color_mask(GLboolean red, GLboolean green, GLboolean blue, GLboolean alpha)
{
  FakeEgl &driver = FakeEgl::now();
  if (driver.enter_gl("glColorMask"))
    driver.color_mask = {red, green, blue, alpha};
}

void GL_APIENTRY bind_sampler(GLuint unit, GLuint sampler)
{
  FakeEgl &driver = FakeEgl::now();
  if (driver.enter_gl("glBindSampler"))
    driver.samplers[unit] = sampler;
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
      {"glViewport", address(Ignore<GLint, GLint, GLsizei, GLsizei>::call<viewport>)},
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
      {"glVertexAttribPointer", address(Ignore<GLuint, GLint, GLenum, GLboolean, GLsizei,
                                               const void *>::call<vertex_attrib_pointer>)},
      {"glEnableVertexAttribArray", address(Ignore<GLuint>::call<enable_vertex_attrib_array>)},
      {"glDisableVertexAttribArray", address(Ignore<GLuint>::call<disable_vertex_attrib_array>)},
      {"glDrawArrays", address(draw_arrays)},
      {"glColorMask", address(color_mask)},
      {"glBindSampler", address(bind_sampler)},
      {"glBlitFramebuffer", address(Ignore<GLint, GLint, GLint, GLint, GLint, GLint, GLint, GLint,
                                           GLbitfield, GLenum>::call<blit_framebuffer>)},
      {"glReadPixels",
       address(Ignore<GLint, GLint, GLsizei, GLsizei, GLenum, GLenum, void *>::call<read_pixels>)},
      {"glBindVertexArray", address(Ignore<GLuint>::call<bind_vertex_array>)},
      {"glPixelStorei", address(Ignore<GLenum, GLint>::call<pixel_storei>)},
  };
  return functions;
}

} // namespace

void *fake_gl_drawing_function(const std::string &name)
{
  const auto found = functions_by_name().find(name);
  return found == functions_by_name().end() ? nullptr : found->second;
}

} // namespace gstdrm::test
