// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gl_program.hpp"

#include <string>
#include <utility>

#include "egl_error.hpp"

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

// The position comes as a varying, not as gl_FragCoord, which has 10 bits only where the GLSL of ES
// 2 is taken at its word.
constexpr const char *kFragmentText = R"(
IN vec2 at;
uniform SAMPLER picture;
uniform vec2 picture_size;
uniform vec2 subsampling;
uniform vec2 lines; // y of the texture = lines.x * y of the picture + lines.y
uniform vec4 row0;
uniform vec4 row1;
uniform vec4 row2;
uniform vec4 row3;
uniform vec4 offset;
uniform vec2 steps; // the size of one, and how many there are; or (0, 0)
vec4 pixel(vec2 centre)
{
  vec2 inside = clamp(centre, vec2(0.5), picture_size - 0.5);
  inside.y = inside.y * lines.x + lines.y;
  return TEXTURE(picture, inside / picture_size);
}
#ifdef NINE_TAPS
uniform vec4 across;
uniform vec4 down;
vec4 line_of_pixels(vec2 centre)
{
  return across.x * pixel(centre - vec2(1.0, 0.0)) + across.y * pixel(centre) +
         across.z * pixel(centre + vec2(1.0, 0.0));
}
vec4 sampled(vec2 centre)
{
  return down.x * line_of_pixels(centre - vec2(0.0, 1.0)) + down.y * line_of_pixels(centre) +
         down.z * line_of_pixels(centre + vec2(0.0, 1.0));
}
#else
vec4 sampled(vec2 centre)
{
  return pixel(centre);
}
#endif
void main()
{
  vec4 texel = sampled(floor(at) * subsampling + 0.5);
  vec4 made = vec4(dot(row0, texel), dot(row1, texel), dot(row2, texel), dot(row3, texel)) + offset;
  if (steps.x > 0.0)
    made = floor(made * steps.y + 0.5) * steps.x;
  RESULT = made;
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

// Deletes the program unless it is handed out.
class Linking {
public:
  explicit Linking(const GlCalls &gl) : gl_(gl), id_(gl.create_program()) {}
  Linking(const Linking &) = delete;
  Linking &operator=(const Linking &) = delete;
  ~Linking()
  {
    if (id_)
      gl_.delete_program(id_);
  }
  [[nodiscard]] GLuint id() const noexcept { return id_; }
  [[nodiscard]] GLuint release() noexcept { return std::exchange(id_, 0); }

private:
  const GlCalls &gl_;
  GLuint id_;
};

} // namespace

Result<GLuint> link_program(const Device &device, Target target, const ProgramText &text)
{
  const GlCalls &gl = device.calls().gl;
  const Driver &driver = device.driver();
  const Dialect dialect = dialect_of(driver, target, text);
  const Shader vertex(gl, GL_VERTEX_SHADER);
  if (auto compiled = vertex.compile(dialect.vertex, driver, "vertex"); !compiled)
    return compiled.error();
  const Shader fragment(gl, GL_FRAGMENT_SHADER);
  if (auto compiled = fragment.compile(dialect.fragment, driver, "fragment"); !compiled)
    return compiled.error();
  Linking program(gl);
  if (program.id() == 0)
    return Error{ErrorCode::Device, driver.describe() + " makes no program: " +
                                        gl_error_name(gl.get_error()) + kUpdateDriver};
  gl.attach_shader(program.id(), vertex.id());
  gl.attach_shader(program.id(), fragment.id());
  gl.bind_attrib_location(program.id(), kPosition, "position");
  gl.link_program(program.id());
  GLint linked = GL_FALSE;
  gl.get_programiv(program.id(), GL_LINK_STATUS, &linked);
  if (linked)
    return program.release();
  std::array<GLchar, 512> log{};
  gl.get_program_info_log(program.id(), static_cast<GLsizei>(log.size()) - 1, nullptr, log.data());
  return Error{ErrorCode::Device, driver.describe() + " does not link the program: " +
                                      one_line(log.data()) + kUpdateDriver};
}

Result<std::unique_ptr<Program>> Program::make(const std::shared_ptr<Device> &device, Target target,
                                               Taps taps)
{
  const Result<GLuint> linked = link_program(
      *device, target, {kFragmentText, taps == Taps::Nine ? "#define NINE_TAPS\n" : ""});
  if (!linked)
    return linked.error();
  std::unique_ptr<Program> program(new Program(device));
  program->id_ = *linked;
  program->find_uniforms();
  return program;
}

Program::~Program()
{
  if (id_)
    device_->calls().gl.delete_program(id_);
}

void Program::find_uniforms()
{
  const auto find = [this](const char *name) {
    return device_->calls().gl.get_uniform_location(id_, name);
  };
  texture_ = find("picture");
  plane_size_ = find("plane_size");
  picture_size_ = find("picture_size");
  subsampling_ = find("subsampling");
  lines_ = find("lines");
  rows_ = {find("row0"), find("row1"), find("row2"), find("row3")};
  offset_ = find("offset");
  steps_ = find("steps");
  across_ = find("across");
  down_ = find("down");
}

void Program::use(const PlaneUniforms &uniforms) const
{
  const GlCalls &gl = device_->calls().gl;
  const auto set2 = [&gl](GLint where, const std::array<float, 2> &value) {
    gl.uniform_2f(where, value[0], value[1]);
  };
  const auto set4 = [&gl](GLint where, const std::array<float, 4> &value) {
    gl.uniform_4f(where, value[0], value[1], value[2], value[3]);
  };
  gl.use_program(id_);
  gl.uniform_1i(texture_, 0);
  set2(plane_size_, uniforms.plane_size);
  set2(picture_size_, uniforms.picture_size);
  set2(subsampling_, uniforms.subsampling);
  if (uniforms.flip)
    gl.uniform_2f(lines_, -1.0F, uniforms.picture_size[1]);
  else
    gl.uniform_2f(lines_, 1.0F, 0.0F);
  for (std::size_t i = 0; i < rows_.size(); i++)
    set4(rows_[i], uniforms.rows[i]);
  set4(offset_, uniforms.offset);
  if (uniforms.step > 0)
    gl.uniform_2f(steps_, uniforms.step, 1.0F / uniforms.step);
  else
    gl.uniform_2f(steps_, 0.0F, 0.0F);
  // locations of -1, with one tap, are ignored (OpenGL ES 2.0, 2.10.4)
  gl.uniform_4f(across_, uniforms.across[0], uniforms.across[1], uniforms.across[2], 0.0F);
  gl.uniform_4f(down_, uniforms.down[0], uniforms.down[1], uniforms.down[2], 0.0F);
}

} // namespace gstdrm::egl
