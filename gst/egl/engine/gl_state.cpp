// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gl_state.hpp"

namespace gstdrm::egl {

void drain_errors(const GlCalls &gl) noexcept
{
  for (int i = 0; i < 8 && gl.get_error() != GL_NO_ERROR; i++) {
  }
}

StateKeeper::StateKeeper(const GlCalls &gl) noexcept : gl_(gl)
{
  gl_.get_integerv(GL_FRAMEBUFFER_BINDING, &framebuffer_);
}

StateKeeper::~StateKeeper()
{
  gl_.bind_framebuffer(GL_FRAMEBUFFER, static_cast<GLuint>(framebuffer_));
}

DrawState::DrawState(const GlCalls &gl, GLuint array, GLuint vertices, GLuint position) noexcept
    : gl_(gl), framebuffer_(gl), array_(array), position_(position)
{
  gl_.get_integerv(GL_VIEWPORT, viewport_.data());
  for (std::size_t i = 0; i < kSwitches.size(); i++) {
    was_on_[i] = gl_.is_enabled(kSwitches[i]) != GL_FALSE;
    if (was_on_[i])
      gl_.disable(kSwitches[i]);
  }
  if (array_)
    gl_.bind_vertex_array(array_);
  gl_.bind_buffer(GL_ARRAY_BUFFER, vertices);
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
  for (std::size_t i = 0; i < kSwitches.size(); i++)
    if (was_on_[i])
      gl_.enable(kSwitches[i]);
  gl_.viewport(viewport_[0], viewport_[1], viewport_[2], viewport_[3]);
}

} // namespace gstdrm::egl
