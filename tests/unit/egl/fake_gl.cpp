// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <sstream>

#include "fake_egl.hpp"

namespace gstdrm::test {
namespace {

GLenum GL_APIENTRY get_error()
{
  return FakeEgl::now().take_gl_error();
}

const GLubyte *text(const std::string &value)
{
  return reinterpret_cast<const GLubyte *>(value.c_str());
}

const GLubyte *GL_APIENTRY get_string(GLenum name)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glGetString") || !driver.has_context)
    return nullptr;
  switch (name) {
  case GL_RENDERER:
    return text(driver.gl_renderer);
  case GL_VERSION:
    return text(driver.gl_version);
  case GL_EXTENSIONS:
    if (!driver.is_core_profile())
      return text(driver.gl_extensions);
    [[fallthrough]];
  default:
    driver.set_gl_error(GL_INVALID_ENUM);
    return nullptr;
  }
}

std::vector<std::string> words(const std::string &list)
{
  std::istringstream stream(list);
  return {std::istream_iterator<std::string>(stream), {}};
}

const GLubyte *GL_APIENTRY get_stringi(GLenum, GLuint index)
{
  static thread_local std::string name;
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glGetStringi"))
    return nullptr;
  const std::vector<std::string> names = words(driver.gl_extensions);
  if (index >= names.size()) {
    driver.set_gl_error(GL_INVALID_VALUE);
    return nullptr;
  }
  name = names[index];
  return text(name);
}

void GL_APIENTRY get_integerv(GLenum name, GLint *value)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glGetIntegerv"))
    return;
  switch (name) {
  case GL_MAX_TEXTURE_SIZE:
    *value = driver.max_texture_size;
    break;
  case GL_RESET_NOTIFICATION_STRATEGY_KHR:
    *value = driver.reset_strategy;
    break;
  case GL_NUM_EXTENSIONS:
    *value = static_cast<GLint>(words(driver.gl_extensions).size()) + driver.extension_count_error;
    break;
  case GL_TEXTURE_BINDING_2D:
    *value = static_cast<GLint>(driver.bound[GL_TEXTURE_2D]);
    break;
  case GL_TEXTURE_BINDING_EXTERNAL_OES:
    *value = static_cast<GLint>(driver.bound[GL_TEXTURE_EXTERNAL_OES]);
    break;
  case GL_FRAMEBUFFER_BINDING:
    *value = static_cast<GLint>(driver.bound[GL_FRAMEBUFFER]);
    break;
  case GL_READ_FRAMEBUFFER_BINDING:
    *value = static_cast<GLint>(driver.bound[GL_READ_FRAMEBUFFER]);
    break;
  case GL_SAMPLER_BINDING:
    *value = static_cast<GLint>(driver.samplers[driver.active_texture - GL_TEXTURE0]);
    break;
  case GL_COLOR_WRITEMASK:
    std::copy(driver.color_mask.begin(), driver.color_mask.end(), value);
    break;
  case GL_POLYGON_MODE_NV:
    std::copy(driver.polygon_mode.begin(), driver.polygon_mode.end(), value);
    break;
  case GL_ARRAY_BUFFER_BINDING:
    *value = static_cast<GLint>(driver.bound[GL_ARRAY_BUFFER]);
    break;
  case GL_CURRENT_PROGRAM:
    *value = static_cast<GLint>(driver.program);
    break;
  case GL_ACTIVE_TEXTURE:
    *value = static_cast<GLint>(driver.active_texture);
    break;
  default:
    *value = 0;
    fake_gl_state(driver, name, value);
  }
}

// Version 2 knows no GL_RASTERIZER_DISCARD, and OpenGL ES neither GL_COLOR_LOGIC_OP (0x0BF2) nor
// GL_POLYGON_SMOOTH (0x0B41); GL_ALPHA_TEST (0x0BC0) and GL_POLYGON_STIPPLE (0x0B42) are fixed
// functions.
GLboolean GL_APIENTRY is_enabled(GLenum what)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glIsEnabled"))
    return GL_FALSE;
  if ((what == GL_RASTERIZER_DISCARD && driver.gl_version.starts_with("OpenGL ES 2")) ||
      ((what == 0x0BF2 || what == 0x0B41) && driver.is_gles()) ||
      ((what == 0x0BC0 || what == 0x0B42) && (driver.is_gles() || driver.is_core_profile())) ||
      (what == GL_CLIP_DISTANCE0_EXT && driver.is_gles() &&
       !driver.has_gl_extension("GL_EXT_clip_cull_distance")) ||
      (what >= GL_CLIP_DISTANCE6_EXT && what <= GL_CLIP_DISTANCE7_EXT))
    driver.set_gl_error(GL_INVALID_ENUM);
  return driver.enabled[what];
}

void GL_APIENTRY enable(GLenum what)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glEnable"))
    return;
  driver.enabled[what] = true;
  driver.second_blends |= what == GL_BLEND;
  driver.second_is_cut |= what == GL_SCISSOR_TEST;
}

void GL_APIENTRY disable(GLenum what)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glDisable"))
    return;
  driver.enabled[what] = false;
  driver.second_blends &= what != GL_BLEND;
  driver.second_is_cut &= what != GL_SCISSOR_TEST;
}

void GL_APIENTRY flush()
{
  FakeEgl &driver = FakeEgl::now();
  if (driver.enter_gl("glFlush"))
    driver.flushes++;
}

void GL_APIENTRY finish()
{
  FakeEgl &driver = FakeEgl::now();
  if (driver.enter_gl("glFinish"))
    driver.flushes++;
}

void GL_APIENTRY gen_textures(GLsizei count, GLuint *names)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glGenTextures"))
    return;
  for (GLsizei i = 0; i < count; ++i)
    driver.textures[names[i] = driver.next_number()] = {};
}

// Names that are not there are passed over (GL ES 3.2, 8.1).
template <typename Objects>
void erase_names(FakeEgl &driver, Objects &objects, GLsizei count, const GLuint *names)
{
  for (GLsizei i = 0; i < count; ++i)
    if (names[i] != 0 && objects.erase(names[i]) == 0)
      driver.double_frees++;
}

void unbind(FakeEgl &driver, GLsizei count, const GLuint *names)
{
  for (auto &[target, name] : driver.bound)
    if (std::find(names, names + count, name) != names + count)
      name = 0;
}

void GL_APIENTRY delete_textures(GLsizei count, const GLuint *names)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glDeleteTextures"))
    return;
  unbind(driver, count, names);
  erase_names(driver, driver.textures, count, names);
}

void GL_APIENTRY active_texture(GLenum unit)
{
  FakeEgl &driver = FakeEgl::now();
  if (driver.enter_gl("glActiveTexture"))
    driver.active_texture = unit;
}

void GL_APIENTRY bind_texture(GLenum target, GLuint name)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glBindTexture"))
    return;
  const auto texture = driver.textures.find(name);
  if (name != 0 && texture == driver.textures.end())
    return driver.set_gl_error(GL_INVALID_OPERATION);
  if (name != 0 && texture->second.target != 0 && texture->second.target != target)
    return driver.set_gl_error(GL_INVALID_OPERATION);
  if (name != 0)
    texture->second.target = target;
  driver.bound[target] = name;
}

void GL_APIENTRY tex_parameteri(GLenum target, GLenum name, GLint value)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glTexParameteri"))
    return;
  const auto texture = driver.textures.find(driver.bound[target]);
  if (texture != driver.textures.end())
    texture->second.parameters[name] = value;
}

void GL_APIENTRY image_target_texture_2d(GLenum target, GLeglImageOES image)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glEGLImageTargetTexture2DOES"))
    return;
  if (target != GL_TEXTURE_2D && target != GL_TEXTURE_EXTERNAL_OES)
    return driver.set_gl_error(GL_INVALID_ENUM);
  const auto found = driver.images.find(reinterpret_cast<std::uintptr_t>(image));
  if (found == driver.images.end())
    return driver.set_gl_error(GL_INVALID_VALUE);
  const auto texture = driver.textures.find(driver.bound[target]);
  if (texture == driver.textures.end() || (target == GL_TEXTURE_2D && found->second.external_only))
    return driver.set_gl_error(GL_INVALID_OPERATION);
  texture->second.image = found->second;
}

void GL_APIENTRY gen_framebuffers(GLsizei count, GLuint *names)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glGenFramebuffers"))
    return;
  for (GLsizei i = 0; i < count; ++i)
    driver.framebuffers[names[i] = driver.next_number()] = 0;
}

void GL_APIENTRY delete_framebuffers(GLsizei count, const GLuint *names)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glDeleteFramebuffers"))
    return;
  unbind(driver, count, names);
  erase_names(driver, driver.framebuffers, count, names);
}

void GL_APIENTRY bind_framebuffer(GLenum target, GLuint name)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glBindFramebuffer"))
    return;
  driver.bound[target] = name;
  if (target == GL_FRAMEBUFFER)
    driver.bound[GL_DRAW_FRAMEBUFFER] = driver.bound[GL_READ_FRAMEBUFFER] = name;
  else if (target == GL_DRAW_FRAMEBUFFER)
    driver.bound[GL_FRAMEBUFFER] = name;
}

void GL_APIENTRY framebuffer_texture_2d(GLenum target, GLenum, GLenum, GLuint texture, GLint)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glFramebufferTexture2D"))
    return;
  if (driver.framebuffers.contains(driver.bound[target]))
    driver.framebuffers[driver.bound[target]] = texture;
  else // the one that comes with the context has no attachments to change
    driver.set_gl_error(GL_INVALID_OPERATION);
}

GLenum GL_APIENTRY check_framebuffer_status(GLenum target)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glCheckFramebufferStatus"))
    return 0;
  const auto bound = driver.framebuffers.find(driver.bound[target]);
  if (bound == driver.framebuffers.end())
    return GL_FRAMEBUFFER_COMPLETE; // the one that comes with the context
  return driver.framebuffers_complete && driver.textures.contains(bound->second)
             ? GL_FRAMEBUFFER_COMPLETE
             : GL_FRAMEBUFFER_UNSUPPORTED;
}

GLuint add_object(const char *function, std::set<GLuint> &objects)
{
  FakeEgl &driver = FakeEgl::now();
  return driver.enter_gl(function) ? *objects.insert(driver.next_number()).first : 0;
}

void remove_object(const char *function, std::set<GLuint> &objects, GLuint name)
{
  FakeEgl &driver = FakeEgl::now();
  if (driver.enter_gl(function))
    erase_names(driver, objects, 1, &name);
}

GLuint GL_APIENTRY create_shader(GLenum)
{
  return add_object("glCreateShader", FakeEgl::now().shaders);
}

void GL_APIENTRY delete_shader(GLuint name)
{
  remove_object("glDeleteShader", FakeEgl::now().shaders, name);
}

GLuint GL_APIENTRY create_program()
{
  return add_object("glCreateProgram", FakeEgl::now().programs);
}

void GL_APIENTRY delete_program(GLuint name)
{
  remove_object("glDeleteProgram", FakeEgl::now().programs, name);
}

// Every status is success; a failing call says that it is not.
void GL_APIENTRY get_shaderiv(GLuint, GLenum, GLint *value)
{
  *value = FakeEgl::now().enter_gl("glGetShaderiv") ? GL_TRUE : GL_FALSE;
}

void GL_APIENTRY get_programiv(GLuint, GLenum, GLint *value)
{
  *value = FakeEgl::now().enter_gl("glGetProgramiv") ? GL_TRUE : GL_FALSE;
}

void give_log(GLsizei size, GLsizei *length, GLchar *log)
{
  const std::string message = "refused by the fake driver";
  const GLsizei used = std::min<GLsizei>(size - 1, static_cast<GLsizei>(message.size()));
  if (size <= 0)
    return;
  std::memcpy(log, message.data(), static_cast<std::size_t>(used));
  log[used] = '\0';
  if (length)
    *length = used;
}

void GL_APIENTRY get_shader_info_log(GLuint, GLsizei size, GLsizei *length, GLchar *log)
{
  if (FakeEgl::now().enter_gl("glGetShaderInfoLog"))
    give_log(size, length, log);
}

void GL_APIENTRY get_program_info_log(GLuint, GLsizei size, GLsizei *length, GLchar *log)
{
  if (FakeEgl::now().enter_gl("glGetProgramInfoLog"))
    give_log(size, length, log);
}

void GL_APIENTRY use_program(GLuint name)
{
  FakeEgl &driver = FakeEgl::now();
  if (driver.enter_gl("glUseProgram"))
    driver.program = name;
}

GLint GL_APIENTRY get_uniform_location(GLuint, const GLchar *)
{
  return FakeEgl::now().enter_gl("glGetUniformLocation") ? 0 : -1;
}

void GL_APIENTRY gen_buffers(GLsizei count, GLuint *names)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glGenBuffers"))
    return;
  for (GLsizei i = 0; i < count; ++i)
    driver.buffers.insert(names[i] = driver.next_number());
}

void GL_APIENTRY delete_buffers(GLsizei count, const GLuint *names)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glDeleteBuffers"))
    return;
  unbind(driver, count, names);
  erase_names(driver, driver.buffers, count, names);
}

void GL_APIENTRY bind_buffer(GLenum target, GLuint name)
{
  FakeEgl &driver = FakeEgl::now();
  if (driver.enter_gl("glBindBuffer"))
    driver.bound[target] = name;
}

void GL_APIENTRY gen_vertex_arrays(GLsizei count, GLuint *names)
{
  FakeEgl &driver = FakeEgl::now();
  if (!driver.enter_gl("glGenVertexArrays"))
    return;
  for (GLsizei i = 0; i < count; ++i)
    driver.vertex_arrays.insert(names[i] = driver.next_number());
}

void GL_APIENTRY delete_vertex_arrays(GLsizei count, const GLuint *names)
{
  FakeEgl &driver = FakeEgl::now();
  if (driver.enter_gl("glDeleteVertexArrays"))
    erase_names(driver, driver.vertex_arrays, count, names);
}

// The names of core, GL_KHR_robustness, GL_EXT_robustness and GL_ARB_robustness.
constexpr std::array<const char *, 4> kResetStatus = {
    "glGetGraphicsResetStatus", "glGetGraphicsResetStatusKHR", "glGetGraphicsResetStatusEXT",
    "glGetGraphicsResetStatusARB"};

template <std::size_t I> GLenum GL_APIENTRY get_reset_status()
{
  FakeEgl &driver = FakeEgl::now();
  return driver.enter_gl(kResetStatus[I]) ? driver.reset_status : GL_NO_ERROR;
}

template <typename Function> void *address(Function function)
{
  return reinterpret_cast<void *>(function);
}

const std::map<std::string, void *> &object_functions()
{
  static const std::map<std::string, void *> functions = {
      {"glGetError", address(get_error)},
      {"glGetString", address(get_string)},
      {"glGetStringi", address(get_stringi)},
      {"glGetIntegerv", address(get_integerv)},
      {"glIsEnabled", address(is_enabled)},
      {kResetStatus[0], address(get_reset_status<0>)},
      {kResetStatus[1], address(get_reset_status<1>)},
      {kResetStatus[2], address(get_reset_status<2>)},
      {kResetStatus[3], address(get_reset_status<3>)},
      {"glEnable", address(enable)},
      {"glDisable", address(disable)},
      {"glFlush", address(flush)},
      {"glFinish", address(finish)},
      {"glGenTextures", address(gen_textures)},
      {"glDeleteTextures", address(delete_textures)},
      {"glActiveTexture", address(active_texture)},
      {"glBindTexture", address(bind_texture)},
      {"glTexParameteri", address(tex_parameteri)},
      {"glEGLImageTargetTexture2DOES", address(image_target_texture_2d)},
      {"glGenFramebuffers", address(gen_framebuffers)},
      {"glDeleteFramebuffers", address(delete_framebuffers)},
      {"glBindFramebuffer", address(bind_framebuffer)},
      {"glFramebufferTexture2D", address(framebuffer_texture_2d)},
      {"glCheckFramebufferStatus", address(check_framebuffer_status)},
      {"glCreateShader", address(create_shader)},
      {"glDeleteShader", address(delete_shader)},
      {"glCreateProgram", address(create_program)},
      {"glDeleteProgram", address(delete_program)},
      {"glGetShaderiv", address(get_shaderiv)},
      {"glGetProgramiv", address(get_programiv)},
      {"glGetShaderInfoLog", address(get_shader_info_log)},
      {"glGetProgramInfoLog", address(get_program_info_log)},
      {"glUseProgram", address(use_program)},
      {"glGetUniformLocation", address(get_uniform_location)},
      {"glGenBuffers", address(gen_buffers)},
      {"glDeleteBuffers", address(delete_buffers)},
      {"glBindBuffer", address(bind_buffer)},
      {"glGenVertexArrays", address(gen_vertex_arrays)},
      {"glDeleteVertexArrays", address(delete_vertex_arrays)},
  };
  return functions;
}

} // namespace

void *fake_gl_function(const std::string &name)
{
  const auto found = object_functions().find(name);
  return found == object_functions().end() ? fake_gl_drawing_function(name) : found->second;
}

} // namespace gstdrm::test
