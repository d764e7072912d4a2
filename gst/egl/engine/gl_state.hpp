// SPDX-License-Identifier: LGPL-2.1-or-later
// GL state that is put back at the end of a scope. For the thread on which the context is current.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "egl_device.hpp"

namespace gstdrm::egl {

// Forgets the errors that earlier calls left. A lost context reports one for ever.
void drain_errors(const GlCalls &gl) noexcept;

// Turns those of some switches off that are on, and on again in the destructor.
class SwitchesOff {
public:
  static constexpr unsigned kMost = 19;

  SwitchesOff(const Device &device, std::span<const GLenum> switches) noexcept;
  SwitchesOff(const SwitchesOff &) = delete;
  SwitchesOff &operator=(const SwitchesOff &) = delete;
  ~SwitchesOff();

private:
  const GlCalls &gl_;
  std::array<GLenum, kMost> were_on_{};
  std::size_t count_ = 0;
};

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

inline constexpr GLuint kPosition = 0; // the attribute: corners of what is drawn, -1 to 1

// One triangle that covers whatever is drawn into.
class Triangle {
public:
  // Error of code Device with GL's words.
  static Result<std::unique_ptr<Triangle>> make(const std::shared_ptr<Device> &device);
  Triangle(const Triangle &) = delete;
  Triangle &operator=(const Triangle &) = delete;
  ~Triangle();

  // Two floats for each corner.
  [[nodiscard]] GLuint vertices() const noexcept { return vertices_; }
  // 0 where the context has no array objects.
  [[nodiscard]] GLuint array() const noexcept { return array_; }

private:
  explicit Triangle(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  const std::shared_ptr<Device> device_;
  GLuint vertices_ = 0;
  GLuint array_ = 0;
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
  DrawState(const Device &device, const Triangle &triangle, unsigned units = 1) noexcept;
  DrawState(const DrawState &) = delete;
  DrawState &operator=(const DrawState &) = delete;
  ~DrawState();
  void set_viewport(std::uint32_t width, std::uint32_t height) const;

  static constexpr unsigned kMaxUnits = 3;

private:
  void set_color_mask(const std::array<GLint, 4> &mask) const;
  void fill_polygons();
  void read_viewport();
  void set_viewport(const std::array<GLfloat, 4> &viewport) const;
  void put_origin_below();
  void put_polygon_mode_back() const;

  const GlCalls &gl_;
  const StateKeeper framebuffer_;
  const SwitchesOff switches_;
  const GLuint array_;
  std::array<GLfloat, 4> viewport_{};
  bool is_upside_down_ = false; // GL_CLIP_ORIGIN
  GLint depth_mode_ = 0;        // which glClipControl() sets, too
  std::array<GLint, 4> color_mask_{};
  std::array<GLint, 2> polygon_mode_{}; // of the front, and of the back where it has its own
  const unsigned units_;
  std::array<GLint, kMaxUnits> samplers_{};
};

} // namespace gstdrm::egl
