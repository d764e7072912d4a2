// SPDX-License-Identifier: LGPL-2.1-or-later
#include "egl_sampler.hpp"

#include <array>

#include "support/check_main.hpp"
#include "support/egl_context.hpp"

namespace gstdrm::test {
namespace {

constexpr const char *kVertex = R"(#version 300 es
in vec2 position;
out vec2 at;
void main()
{
  at = position * 0.5 + 0.5;
  gl_Position = vec4(position, 0.0, 1.0);
}
)";

// exact: no filter
constexpr const char *kFrom2d = R"(#version 300 es
precision highp float;
uniform highp sampler2D picture;
in vec2 at;
out vec4 color;
void main() { color = texelFetch(picture, ivec2(gl_FragCoord.xy), 0); }
)";

constexpr const char *kFromExternal = R"(#version 300 es
#extension GL_OES_EGL_image_external_essl3 : require
precision highp float;
uniform highp samplerExternalOES picture;
in vec2 at;
out vec4 color;
void main() { color = texture(picture, at); }
)";

PFNGLTEXIMAGE2DPROC find_tex_image()
{
  const auto loader = gstdrm::test::library_loader();
  fail_unless(static_cast<bool>(loader));
  return reinterpret_cast<PFNGLTEXIMAGE2DPROC>((*loader)("glTexImage2D"));
}

} // namespace

Sampler::Sampler(const egl::Device &device) : device_(device)
{
  const egl::GlCalls &gl = device_.calls().gl;
  from_2d_ = build(kFrom2d);
  if (device_.has_external_textures())
    from_external_ = build(kFromExternal);
  constexpr std::array<float, 8> kCorners = {-1, -1, 1, -1, -1, 1, 1, 1};
  gl.gen_buffers(1, &vertices_);
  gl.bind_buffer(GL_ARRAY_BUFFER, vertices_);
  gl.buffer_data(GL_ARRAY_BUFFER, sizeof kCorners, kCorners.data(), GL_STATIC_DRAW);
  gl.vertex_attrib_pointer(0, 2, GL_FLOAT, GL_FALSE, 0, nullptr);
  gl.enable_vertex_attrib_array(0);
}

Sampler::~Sampler()
{
  const egl::GlCalls &gl = device_.calls().gl;
  gl.disable_vertex_attrib_array(0);
  gl.delete_buffers(1, &vertices_);
  gl.delete_program(from_2d_);
  gl.delete_program(from_external_);
}

GLuint Sampler::build(const char *fragment)
{
  const egl::GlCalls &gl = device_.calls().gl;
  const GLuint program = gl.create_program();
  for (const auto &[kind, source] :
       {std::pair{GL_VERTEX_SHADER, kVertex}, {GL_FRAGMENT_SHADER, fragment}}) {
    const GLuint shader = gl.create_shader(static_cast<GLenum>(kind));
    gl.shader_source(shader, 1, &source, nullptr);
    gl.compile_shader(shader);
    gl.attach_shader(program, shader);
    gl.delete_shader(shader);
  }
  gl.bind_attrib_location(program, 0, "position");
  gl.link_program(program);
  GLint linked = 0;
  gl.get_programiv(program, GL_LINK_STATUS, &linked);
  std::array<char, 1024> log{};
  gl.get_program_info_log(program, log.size(), nullptr, log.data());
  fail_unless(linked == GL_TRUE, "%s", log.data());
  return program;
}

std::vector<float> Sampler::read(const egl::Texture &texture)
{
  const egl::GlCalls &gl = device_.calls().gl;
  static const PFNGLTEXIMAGE2DPROC tex_image = find_tex_image();
  const auto width = static_cast<GLsizei>(texture.width());
  const auto height = static_cast<GLsizei>(texture.height());
  GLuint picture = 0;
  gl.gen_textures(1, &picture);
  gl.bind_texture(GL_TEXTURE_2D, picture);
  tex_image(GL_TEXTURE_2D, 0, GL_RGBA32F, width, height, 0, GL_RGBA, GL_FLOAT, nullptr);
  gl.tex_parameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  GLuint framebuffer = 0;
  gl.gen_framebuffers(1, &framebuffer);
  gl.bind_framebuffer(GL_FRAMEBUFFER, framebuffer);
  gl.framebuffer_texture_2d(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, picture, 0);
  fail_unless_equals_int(gl.check_framebuffer_status(GL_FRAMEBUFFER), GL_FRAMEBUFFER_COMPLETE);

  const GLenum target = egl::gl_target(texture.target());
  gl.use_program(texture.target() == egl::Target::External ? from_external_ : from_2d_);
  gl.viewport(0, 0, width, height);
  gl.bind_texture(target, texture.id());
  gl.draw_arrays(GL_TRIANGLE_STRIP, 0, 4);
  std::vector<float> pixels(std::size_t{4} * texture.width() * texture.height());
  gl.read_pixels(0, 0, width, height, GL_RGBA, GL_FLOAT, pixels.data());
  fail_unless_equals_int(gl.get_error(), GL_NO_ERROR);

  gl.bind_texture(target, 0);
  gl.bind_framebuffer(GL_FRAMEBUFFER, 0);
  gl.delete_framebuffers(1, &framebuffer);
  gl.delete_textures(1, &picture);
  return pixels;
}

} // namespace gstdrm::test
