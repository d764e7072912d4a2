// SPDX-License-Identifier: LGPL-2.1-or-later
// GL state that is put back at the end of a scope. For the thread on which the context is current.
#pragma once

#include <array>

#include "egl_device.hpp"
#include "gl_triangle.hpp"

namespace gstdrm::egl {

// Forgets the errors that earlier calls left. A lost context reports one for ever.
void drain_errors(const GlCalls &gl) noexcept;

// GL_BLEND of the first draw buffer, GL_SCISSOR_TEST of the first viewport, or another switch:
// where each has its own, a frame has one, and a query answers with the state of the first (OpenGL
// ES 3.2, 20.3).
void turn(const GlCalls &gl, GLenum what, bool on) noexcept;

// The framebuffers for drawing and for reading, which version 2 has as one.
class StateKeeper {
public:
  explicit StateKeeper(const GlCalls &gl) noexcept;
  StateKeeper(const StateKeeper &) = delete;
  StateKeeper &operator=(const StateKeeper &) = delete;
  ~StateKeeper();

private:
  const GlCalls &gl_;
  GLint framebuffer_ = 0;
  GLint read_framebuffer_ = 0;
};

// All that a draw needs: vertices bound, and every test and operation off that would change a
// sample or keep it from the frame, the sampler objects of the texture units among them.
// Framebuffers, viewport, colour mask and these are put back as they were, those of other draw
// buffers and viewports than the first are left alone; the program, the vertices and the texture
// unit are put to GL's defaults, as GStreamer's elements leave them.
// GL_FRAMEBUFFER_SRGB changes nothing: no image of a DRM format is one of sRGB encoding. Nor do the
// sample masks and coverages of multisampling: a frame has one sample for each pixel.
class DrawState {
public:
  // `units` texture units are sampled, from the first on: at most kMaxUnits.
  DrawState(const Device &device, const Triangle &triangle, GLuint position,
            unsigned units = 1) noexcept;
  DrawState(const DrawState &) = delete;
  DrawState &operator=(const DrawState &) = delete;
  ~DrawState();
  void set_viewport(std::uint32_t width, std::uint32_t height) const;

  static constexpr unsigned kMaxUnits = 3;

private:
  [[nodiscard]] bool has_switch(GLenum what) const noexcept;
  void set_color_mask(const std::array<GLint, 4> &mask) const;
  void fill_polygons();
  void read_viewport();
  void set_viewport(const std::array<GLfloat, 4> &viewport) const;
  void put_origin_below();
  void switch_off();
  void put_polygon_mode_back() const;
  void put_switches_back() const;

  static constexpr GLenum kLogicOp = 0x0BF2;        // GL_COLOR_LOGIC_OP
  static constexpr GLenum kPolygonSmooth = 0x0B41;  // GL_POLYGON_SMOOTH
  static constexpr GLenum kAlphaTest = 0x0BC0;      // GL_ALPHA_TEST
  static constexpr GLenum kPolygonStipple = 0x0B42; // GL_POLYGON_STIPPLE
  static constexpr unsigned kMaxClipDistances = 8;  // of all drivers of Mesa
  static constexpr std::array<GLenum, 11 + kMaxClipDistances> kSwitches{GL_BLEND,
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
                                                                        GL_CLIP_DISTANCE7_EXT};
  const Driver &driver_;
  const GlCalls &gl_;
  const StateKeeper framebuffer_;
  const GLuint array_;
  const GLuint position_;
  std::array<GLfloat, 4> viewport_{};
  bool is_upside_down_ = false; // GL_CLIP_ORIGIN
  GLint depth_mode_ = 0;        // which glClipControl() sets, too
  std::array<GLint, 4> color_mask_{};
  std::array<GLint, 2> polygon_mode_{}; // of the front, and of the back where it has its own
  const unsigned units_;
  std::array<GLint, kMaxUnits> samplers_{};
  std::array<bool, kSwitches.size()> was_on_{};
};

} // namespace gstdrm::egl
