// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gl_state.hpp"

#include <algorithm>

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

} // namespace

void turn(const GlCalls &gl, GLenum what, bool on) noexcept
{
  const bool is_indexed =
      (what == GL_BLEND && gl.color_mask_i) || (what == GL_SCISSOR_TEST && gl.viewport_i);
  if (is_indexed && gl.enable_i && gl.disable_i)
    (on ? gl.enable_i : gl.disable_i)(what, 0);
  else
    (on ? gl.enable : gl.disable)(what);
}

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

// Asking for what a version has not is an error.
bool DrawState::has_switch(GLenum what) const noexcept
{
  if (what == kLogicOp || what == kPolygonSmooth)
    return !driver_.is_gles;
  if (what == kAlphaTest || what == kPolygonStipple)
    return driver_.has_fixed_functions;
  if (what >= GL_CLIP_DISTANCE0_EXT && what < GL_CLIP_DISTANCE0_EXT + kMaxClipDistances)
    return what < GL_CLIP_DISTANCE0_EXT + driver_.clip_distances;
  return what != GL_RASTERIZER_DISCARD || is_version_3(gl_);
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

void DrawState::switch_off()
{
  for (std::size_t i = 0; i < kSwitches.size(); i++) {
    was_on_[i] = has_switch(kSwitches[i]) && gl_.is_enabled(kSwitches[i]) != GL_FALSE;
    if (was_on_[i])
      turn(gl_, kSwitches[i], false);
  }
  fill_polygons();
  put_origin_below();
  gl_.get_integerv(GL_COLOR_WRITEMASK, color_mask_.data());
  set_color_mask({1, 1, 1, 1});
  if (!gl_.bind_sampler)
    return;
  // of the active unit; a sampler object stands before the texture's own parameters
  for (unsigned unit = units_; unit-- > 0;) {
    gl_.active_texture(GL_TEXTURE0 + unit);
    gl_.get_integerv(GL_SAMPLER_BINDING, &samplers_[unit]);
    if (samplers_[unit])
      gl_.bind_sampler(unit, 0);
  }
}

void DrawState::put_switches_back() const
{
  for (unsigned unit = 0; unit < units_; unit++)
    if (samplers_[unit])
      gl_.bind_sampler(unit, static_cast<GLuint>(samplers_[unit]));
  set_color_mask(color_mask_);
  put_polygon_mode_back();
  if (is_upside_down_)
    gl_.clip_control(GL_UPPER_LEFT_EXT, static_cast<GLenum>(depth_mode_));
  for (std::size_t i = 0; i < kSwitches.size(); i++)
    if (was_on_[i])
      turn(gl_, kSwitches[i], true);
}

DrawState::DrawState(const Device &device, const Triangle &triangle, GLuint position,
                     unsigned units) noexcept
    : driver_(device.driver()), gl_(device.calls().gl), framebuffer_(gl_), array_(triangle.array()),
      position_(position), units_(units)
{
  read_viewport();
  switch_off();
  if (array_)
    gl_.bind_vertex_array(array_);
  gl_.bind_buffer(GL_ARRAY_BUFFER, triangle.vertices());
  gl_.vertex_attrib_pointer(position_, 2, GL_FLOAT, GL_FALSE, 0, nullptr);
  gl_.enable_vertex_attrib_array(position_);
}

DrawState::~DrawState()
{
  gl_.disable_vertex_attrib_array(position_);
  gl_.bind_buffer(GL_ARRAY_BUFFER, 0);
  if (array_)
    gl_.bind_vertex_array(0);
  gl_.use_program(0);
  put_switches_back();
  set_viewport(viewport_);
}

} // namespace gstdrm::egl
