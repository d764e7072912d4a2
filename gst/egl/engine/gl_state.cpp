// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gl_state.hpp"

#include <algorithm>
#include <utility>

#include "egl_error.hpp"

namespace gstdrm::egl {

namespace {

// Framebuffers of their own for reading, and GL_RASTERIZER_DISCARD: OpenGL 3.0, OpenGL ES 3.0.
bool is_version_3(const GlCalls &gl) noexcept
{
  return gl.blit_framebuffer != nullptr;
}

GLboolean as_boolean(GLint value) noexcept
{
  return value ? GL_TRUE : GL_FALSE;
}

constexpr GLenum kLogicOp = 0x0BF2;        // GL_COLOR_LOGIC_OP
constexpr GLenum kPolygonSmooth = 0x0B41;  // GL_POLYGON_SMOOTH
constexpr GLenum kAlphaTest = 0x0BC0;      // GL_ALPHA_TEST
constexpr GLenum kPolygonStipple = 0x0B42; // GL_POLYGON_STIPPLE
constexpr unsigned kMaxClipDistances = 8;  // of all drivers of Mesa
constexpr std::array<GLenum, SwitchesOff::kMost> kDrawSwitches{
    GL_BLEND,
    GL_CULL_FACE,
    GL_DEPTH_TEST,
    GL_DITHER,
    GL_SCISSOR_TEST,
    GL_STENCIL_TEST,
    GL_RASTERIZER_DISCARD,
    kLogicOp,
    kPolygonSmooth,
    kAlphaTest,
    kPolygonStipple,
    GL_CLIP_DISTANCE0_EXT,
    GL_CLIP_DISTANCE1_EXT,
    GL_CLIP_DISTANCE2_EXT,
    GL_CLIP_DISTANCE3_EXT,
    GL_CLIP_DISTANCE4_EXT,
    GL_CLIP_DISTANCE5_EXT,
    GL_CLIP_DISTANCE6_EXT,
    GL_CLIP_DISTANCE7_EXT,
};

// Asking for what a version has not is an error.
bool has_switch(const Device &device, GLenum what) noexcept
{
  const Driver &driver = device.driver();
  if (what == kLogicOp || what == kPolygonSmooth)
    return !driver.is_gles;
  if (what == kAlphaTest || what == kPolygonStipple)
    return driver.has_fixed_functions;
  if (what >= GL_CLIP_DISTANCE0_EXT && what < GL_CLIP_DISTANCE0_EXT + kMaxClipDistances)
    return what < GL_CLIP_DISTANCE0_EXT + driver.clip_distances;
  return what != GL_RASTERIZER_DISCARD || is_version_3(device.calls().gl);
}

// GL_BLEND of the first draw buffer, GL_SCISSOR_TEST of the first viewport, or another switch:
// where each has its own, a frame has one, and a query answers with the state of the first (OpenGL
// ES 3.2, 20.3).
void turn(const GlCalls &gl, GLenum what, bool on) noexcept
{
  const bool is_indexed =
      (what == GL_BLEND && gl.color_mask_i) || (what == GL_SCISSOR_TEST && gl.viewport_i);
  if (is_indexed && gl.enable_i && gl.disable_i)
    (on ? gl.enable_i : gl.disable_i)(what, 0);
  else
    (on ? gl.enable : gl.disable)(what);
}

} // namespace

void drain_errors(const GlCalls &gl) noexcept
{
  for (int i = 0; i < 8 && gl.get_error() != GL_NO_ERROR; i++) {
  }
}

StateKeeper::StateKeeper(const GlCalls &gl) noexcept : gl_(gl)
{
  gl_.get_integerv(GL_FRAMEBUFFER_BINDING, &framebuffer_);
  read_framebuffer_ = framebuffer_;
  if (is_version_3(gl_))
    gl_.get_integerv(GL_READ_FRAMEBUFFER_BINDING, &read_framebuffer_);
}

StateKeeper::~StateKeeper()
{
  gl_.bind_framebuffer(GL_FRAMEBUFFER, static_cast<GLuint>(framebuffer_));
  if (read_framebuffer_ != framebuffer_)
    gl_.bind_framebuffer(GL_READ_FRAMEBUFFER, static_cast<GLuint>(read_framebuffer_));
}

SwitchesOff::SwitchesOff(const Device &device, std::span<const GLenum> switches) noexcept
    : gl_(device.calls().gl)
{
  for (const GLenum what : switches)
    if (has_switch(device, what) && gl_.is_enabled(what)) {
      turn(gl_, what, false);
      were_on_[count_++] = what;
    }
}

SwitchesOff::~SwitchesOff()
{
  for (std::size_t i = 0; i < count_; i++)
    turn(gl_, were_on_[i], true);
}

Triangle::~Triangle()
{
  const GlCalls &gl = device_->calls().gl;
  if (array_)
    gl.delete_vertex_arrays(1, &array_);
  if (vertices_)
    gl.delete_buffers(1, &vertices_);
}

Result<std::unique_ptr<Triangle>> Triangle::make(const std::shared_ptr<Device> &device)
{
  std::unique_ptr<Triangle> triangle(new Triangle(device));
  const GlCalls &gl = device->calls().gl;
  drain_errors(gl);
  constexpr std::array<GLfloat, 6> corners{-1, -1, 3, -1, -1, 3};
  gl.gen_buffers(1, &triangle->vertices_);
  // also where GL draws without: the one that is bound may be somebody else's
  if (gl.gen_vertex_arrays && gl.bind_vertex_array && gl.delete_vertex_arrays)
    gl.gen_vertex_arrays(1, &triangle->array_);
  gl.bind_buffer(GL_ARRAY_BUFFER, triangle->vertices_);
  gl.buffer_data(GL_ARRAY_BUFFER, sizeof(corners), corners.data(), GL_STATIC_DRAW);
  gl.bind_buffer(GL_ARRAY_BUFFER, 0);
  if (const GLenum error = gl.get_error(); error != GL_NO_ERROR) {
    device->note_error(error);
    return Error{ErrorCode::Device, device->driver().describe() + " makes no vertex buffer: " +
                                        gl_error_name(error) + kUpdateDriver};
  }
  return triangle;
}

// Of the first viewport, in which a draw without a geometry shader is.
void DrawState::read_viewport()
{
  if (gl_.viewport_i && gl_.get_float_i) {
    gl_.get_float_i(GL_VIEWPORT, 0, viewport_.data());
    return;
  }
  std::array<GLint, 4> whole{};
  gl_.get_integerv(GL_VIEWPORT, whole.data());
  std::copy(whole.begin(), whole.end(), viewport_.begin());
}

void DrawState::set_viewport(const std::array<GLfloat, 4> &viewport) const
{
  const auto &[left, bottom, width, height] = viewport;
  if (gl_.viewport_i && gl_.get_float_i)
    gl_.viewport_i(0, viewport.data());
  else
    gl_.viewport(static_cast<GLint>(left), static_cast<GLint>(bottom), static_cast<GLsizei>(width),
                 static_cast<GLsizei>(height));
}

void DrawState::set_viewport(std::uint32_t width, std::uint32_t height) const
{
  set_viewport({0, 0, static_cast<GLfloat>(width), static_cast<GLfloat>(height)});
}

// Else the frame stands on its head.
void DrawState::put_origin_below()
{
  if (!gl_.clip_control)
    return;
  GLint origin = GL_LOWER_LEFT_EXT;
  gl_.get_integerv(GL_CLIP_ORIGIN_EXT, &origin);
  is_upside_down_ = origin == GL_UPPER_LEFT_EXT;
  if (!is_upside_down_)
    return;
  gl_.get_integerv(GL_CLIP_DEPTH_MODE_EXT, &depth_mode_);
  gl_.clip_control(GL_LOWER_LEFT_EXT, static_cast<GLenum>(depth_mode_));
}

void DrawState::set_color_mask(const std::array<GLint, 4> &mask) const
{
  const auto &[red, green, blue, alpha] = mask;
  if (gl_.color_mask_i)
    gl_.color_mask_i(0, as_boolean(red), as_boolean(green), as_boolean(blue), as_boolean(alpha));
  else
    gl_.color_mask(as_boolean(red), as_boolean(green), as_boolean(blue), as_boolean(alpha));
}

void DrawState::fill_polygons()
{
  if (!gl_.polygon_mode)
    return;
  gl_.get_integerv(GL_POLYGON_MODE_NV, polygon_mode_.data());
  if (polygon_mode_[1] == 0)
    polygon_mode_[1] = polygon_mode_[0];
  if (polygon_mode_ != std::array<GLint, 2>{GL_FILL_NV, GL_FILL_NV})
    gl_.polygon_mode(GL_FRONT_AND_BACK, GL_FILL_NV);
}

void DrawState::put_polygon_mode_back() const
{
  const auto &[front, back] = polygon_mode_;
  if (!gl_.polygon_mode || (front == GL_FILL_NV && back == GL_FILL_NV))
    return;
  if (front == back) { // core profiles know no other
    gl_.polygon_mode(GL_FRONT_AND_BACK, static_cast<GLenum>(front));
    return;
  }
  gl_.polygon_mode(GL_FRONT, static_cast<GLenum>(front));
  gl_.polygon_mode(GL_BACK, static_cast<GLenum>(back));
}

DrawState::DrawState(const Device &device, const Triangle &triangle, unsigned units) noexcept
    : gl_(device.calls().gl), framebuffer_(gl_), switches_(device, kDrawSwitches),
      array_(triangle.array()), units_(units)
{
  read_viewport();
  fill_polygons();
  put_origin_below();
  gl_.get_integerv(GL_COLOR_WRITEMASK, color_mask_.data());
  set_color_mask({1, 1, 1, 1});
  // of the active unit; a sampler object stands before the texture's own parameters
  for (unsigned unit = gl_.bind_sampler ? units_ : 0; unit-- > 0;) {
    gl_.active_texture(GL_TEXTURE0 + unit);
    gl_.get_integerv(GL_SAMPLER_BINDING, &samplers_[unit]);
    if (samplers_[unit])
      gl_.bind_sampler(unit, 0);
  }
  if (array_)
    gl_.bind_vertex_array(array_);
  gl_.bind_buffer(GL_ARRAY_BUFFER, triangle.vertices());
  gl_.vertex_attrib_pointer(kPosition, 2, GL_FLOAT, GL_FALSE, 0, nullptr);
  gl_.enable_vertex_attrib_array(kPosition);
}

DrawState::~DrawState()
{
  gl_.disable_vertex_attrib_array(kPosition);
  gl_.bind_buffer(GL_ARRAY_BUFFER, 0);
  if (array_)
    gl_.bind_vertex_array(0);
  gl_.use_program(0);
  for (unsigned unit = 0; unit < units_; unit++)
    if (samplers_[unit])
      gl_.bind_sampler(unit, static_cast<GLuint>(samplers_[unit]));
  set_color_mask(color_mask_);
  put_polygon_mode_back();
  if (is_upside_down_)
    gl_.clip_control(GL_UPPER_LEFT_EXT, static_cast<GLenum>(depth_mode_));
  set_viewport(viewport_);
}

} // namespace gstdrm::egl
