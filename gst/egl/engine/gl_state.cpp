// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gl_state.hpp"

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
    return gl_.polygon_mode != nullptr; // desktop GL
  return what != GL_RASTERIZER_DISCARD || is_version_3(gl_);
}

// Each draw buffer has its own blending and its own colour mask, and a frame has one draw buffer. A
// query answers with the state of the first (OpenGL ES 3.2, 20.3).
void DrawState::turn(GLenum what, bool on) const
{
  if (what == GL_BLEND && gl_.enable_i && gl_.disable_i)
    (on ? gl_.enable_i : gl_.disable_i)(what, 0);
  else
    (on ? gl_.enable : gl_.disable)(what);
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
      turn(kSwitches[i], false);
  }
  fill_polygons();
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
  for (std::size_t i = 0; i < kSwitches.size(); i++)
    if (was_on_[i])
      turn(kSwitches[i], true);
}

DrawState::DrawState(const GlCalls &gl, const Triangle &triangle, GLuint position,
                     unsigned units) noexcept
    : gl_(gl), framebuffer_(gl), array_(triangle.array()), position_(position), units_(units)
{
  gl_.get_integerv(GL_VIEWPORT, viewport_.data());
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
  gl_.viewport(viewport_[0], viewport_[1], viewport_[2], viewport_[3]);
}

} // namespace gstdrm::egl
