// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gl_program.hpp"

#include <string>
#include <utility>

#include "egl_error.hpp"
#include "gl_state.hpp"

namespace gstdrm::egl {
namespace {

constexpr const char *kVertexText = R"(
IN vec2 position;
uniform vec2 plane_size;
OUT vec2 at; // samples of the plane
void main()
{
  gl_Position = vec4(position, 0.0, 1.0);
  at = (position * 0.5 + 0.5) * plane_size;
}
)";

struct Dialect {
  std::string vertex;
  std::string fragment;
};

// The words in which the GLSL versions differ. Desktop GL from 3.1 on may be a core profile, which
// knows the new words alone (GLSL 1.40); older contexts know the old ones alone.
Dialect dialect_of(const Driver &driver, Target target, const ProgramText &text)
{
  std::string version = "#version 110\n";
  bool modern = false;
  if (driver.is_gles) {
    version = "#version 100\n";
  } else if (const auto &known = driver.gl_version; known.size() >= 3 && known[1] == '.') {
    modern = known[0] > '3' || (known[0] == '3' && known[2] >= '1');
    if (modern)
      version = "#version 140\n";
  }
  const std::string precision = driver.is_gles ? "#ifdef GL_FRAGMENT_PRECISION_HIGH\n"
                                                 "precision highp float;\n"
                                                 "#else\n"
                                                 "precision mediump float;\n"
                                                 "#endif\n"
                                               : "";
  Dialect dialect;
  dialect.vertex = version + (modern ? "#define IN in\n#define OUT out\n"
                                     : "#define IN attribute\n#define OUT varying\n");
  dialect.fragment = version;
  if (target == Target::External)
    dialect.fragment += "#extension GL_OES_EGL_image_external : require\n"
                        "#define SAMPLER samplerExternalOES\n";
  else
    dialect.fragment += "#define SAMPLER sampler2D\n";
  dialect.fragment += precision;
  dialect.fragment += modern ? "#define IN in\n#define TEXTURE texture\n"
                               "out vec4 result;\n#define RESULT result\n"
                             : "#define IN varying\n#define TEXTURE texture2D\n"
                               "#define RESULT gl_FragColor\n";
  dialect.vertex += kVertexText;
  dialect.fragment += text.defines;
  dialect.fragment += text.fragment;
  return dialect;
}

// Drivers write a line for each mistake, or nothing at all; the message on the bus is one sentence.
std::string one_line(const std::string &log)
{
  std::string line;
  for (const char c : log)
    if (c != '\n')
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ", ";
  while (!line.empty() && (line.back() == ',' || line.back() == ' '))
    line.pop_back();
  return line.empty() ? "it does not say why" : line;
}

// A compiled shader, until it is attached.
class Shader {
public:
  Shader(const GlCalls &gl, GLenum type) : gl_(gl), id_(gl.create_shader(type)) {}
  Shader(const Shader &) = delete;
  Shader &operator=(const Shader &) = delete;
  ~Shader()
  {
    if (id_)
      gl_.delete_shader(id_);
  }
  [[nodiscard]] GLuint id() const noexcept { return id_; }

  Result<void> compile(const std::string &text, const Driver &driver, const char *kind) const
  {
    if (id_ == 0)
      return Error{ErrorCode::Device, driver.describe() + " makes no " + kind + " shader: " +
                                          gl_error_name(gl_.get_error()) + kUpdateDriver};
    const GLchar *lines = text.c_str();
    gl_.shader_source(id_, 1, &lines, nullptr);
    gl_.compile_shader(id_);
    GLint compiled = GL_FALSE;
    gl_.get_shaderiv(id_, GL_COMPILE_STATUS, &compiled);
    if (compiled)
      return {};
    std::array<GLchar, 512> log{};
    gl_.get_shader_info_log(id_, static_cast<GLsizei>(log.size()) - 1, nullptr, log.data());
    return Error{ErrorCode::Device, driver.describe() + " does not compile the " + kind +
                                        " shader: " + one_line(log.data()) + kUpdateDriver};
  }

private:
  const GlCalls &gl_;
  GLuint id_;
};

} // namespace

Result<std::unique_ptr<Program>> Program::make(const std::shared_ptr<Device> &device, Target target,
                                               const ProgramText &text)
{
  const GlCalls &gl = device->calls().gl;
  const Driver &driver = device->driver();
  const Dialect dialect = dialect_of(driver, target, text);
  const Shader vertex(gl, GL_VERTEX_SHADER);
  if (auto compiled = vertex.compile(dialect.vertex, driver, "vertex"); !compiled)
    return compiled.error();
  const Shader fragment(gl, GL_FRAGMENT_SHADER);
  if (auto compiled = fragment.compile(dialect.fragment, driver, "fragment"); !compiled)
    return compiled.error();
  std::unique_ptr<Program> program(new Program(device));
  const GLuint id = program->id_ = gl.create_program();
  if (id == 0)
    return Error{ErrorCode::Device, driver.describe() + " makes no program: " +
                                        gl_error_name(gl.get_error()) + kUpdateDriver};
  gl.attach_shader(id, vertex.id());
  gl.attach_shader(id, fragment.id());
  gl.bind_attrib_location(id, kPosition, "position");
  gl.link_program(id);
  GLint linked = GL_FALSE;
  gl.get_programiv(id, GL_LINK_STATUS, &linked);
  if (linked)
    return program;
  std::array<GLchar, 512> log{};
  gl.get_program_info_log(id, static_cast<GLsizei>(log.size()) - 1, nullptr, log.data());
  return Error{ErrorCode::Device, driver.describe() + " does not link the program: " +
                                      one_line(log.data()) + kUpdateDriver};
}

Program::~Program()
{
  if (id_)
    device_->calls().gl.delete_program(id_);
}

GLint Program::place_of(const char *uniform) const
{
  for (const auto &[name, place] : places_)
    if (name == uniform)
      return place;
  return places_.emplace_back(uniform, device_->calls().gl.get_uniform_location(id_, uniform))
      .second;
}

void Program::set(const char *uniform, GLint value) const
{
  device_->calls().gl.uniform_1i(place_of(uniform), value);
}

void Program::set(const char *uniform, const std::array<float, 2> &value) const
{
  device_->calls().gl.uniform_2f(place_of(uniform), value[0], value[1]);
}

void Program::set(const char *uniform, const std::array<float, 4> &value) const
{
  device_->calls().gl.uniform_4f(place_of(uniform), value[0], value[1], value[2], value[3]);
}

} // namespace gstdrm::egl
