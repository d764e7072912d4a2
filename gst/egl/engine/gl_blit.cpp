// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gl_blit.hpp"

#include <array>

#include <gst/drm/core/log.hpp>

#include "egl_error.hpp"
#include "gl_state.hpp"

namespace gstdrm::egl {

namespace {

// A blit stays within the scissor box (OpenGL ES 3.0, 4.3.3). By the specification nothing else
// changes its pixels, but NVIDIA's driver draws it, and drops it with GL_RASTERIZER_DISCARD (read
// on 580.159.04).
class WholeFrame {
public:
  explicit WholeFrame(const GlCalls &gl) : gl_(gl)
  {
    for (std::size_t i = 0; i < kSwitches.size(); i++) {
      was_on_[i] = gl_.is_enabled(kSwitches[i]) != GL_FALSE;
      if (was_on_[i])
        turn(gl_, kSwitches[i], false);
    }
  }
  WholeFrame(const WholeFrame &) = delete;
  WholeFrame &operator=(const WholeFrame &) = delete;
  ~WholeFrame()
  {
    for (std::size_t i = 0; i < kSwitches.size(); i++)
      if (was_on_[i])
        turn(gl_, kSwitches[i], true);
  }

private:
  static constexpr std::array<GLenum, 2> kSwitches{GL_SCISSOR_TEST, GL_RASTERIZER_DISCARD};
  const GlCalls &gl_;
  std::array<bool, kSwitches.size()> was_on_{};
};

} // namespace

Blitter::~Blitter()
{
  if (source_ != 0)
    device_->calls().gl.delete_framebuffers(1, &source_);
}

bool Blitter::copy(GLuint texture, GLuint framebuffer, std::uint32_t width, std::uint32_t height)
{
  const GlCalls &gl = device_->calls().gl;
  if (refused_ || !gl.blit_framebuffer)
    return false;
  const StateKeeper state(gl);
  const WholeFrame whole(gl);
  if (source_ == 0)
    gl.gen_framebuffers(1, &source_);
  if (source_ == 0) { // the framebuffer of the window would be copied
    refused_ = true;
    drain_errors(gl);
    return false;
  }
  gl.bind_framebuffer(GL_DRAW_FRAMEBUFFER, framebuffer);
  gl.bind_framebuffer(GL_READ_FRAMEBUFFER, source_);
  gl.framebuffer_texture_2d(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
  const auto right = static_cast<GLint>(width);
  const auto top = static_cast<GLint>(height);
  gl.blit_framebuffer(0, 0, right, top, 0, 0, right, top, GL_COLOR_BUFFER_BIT, GL_NEAREST);
  const GLenum error = gl.get_error();
  device_->note_error(error);
  // the texture is somebody else's, and ends when its owner lets go of it
  gl.framebuffer_texture_2d(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, 0, 0);
  refused_ = error != GL_NO_ERROR;
  if (refused_)
    GSTDRM_DEBUG("%s, does not blit: %s", device_->driver().describe().c_str(),
                 gl_error_name(error).c_str());
  drain_errors(gl);
  return !refused_;
}

} // namespace gstdrm::egl
