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

void DrawState::switch_off()
{
  for (std::size_t i = 0; i < kSwitches.size(); i++) {
    if (kSwitches[i] == GL_RASTERIZER_DISCARD && !is_version_3(gl_))
      continue;
    was_on_[i] = gl_.is_enabled(kSwitches[i]) != GL_FALSE;
    if (was_on_[i])
      gl_.disable(kSwitches[i]);
  }
  gl_.get_integerv(GL_COLOR_WRITEMASK, color_mask_.data());
  gl_.color_mask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
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
  gl_.color_mask(as_boolean(color_mask_[0]), as_boolean(color_mask_[1]), as_boolean(color_mask_[2]),
                 as_boolean(color_mask_[3]));
  for (std::size_t i = 0; i < kSwitches.size(); i++)
    if (was_on_[i])
      gl_.enable(kSwitches[i]);
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
