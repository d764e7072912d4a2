// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws the planes of a YUV frame as one RGBA texture, by the equations of its colours. For the
// thread on which the device's context is current.
#pragma once

#include <array>
#include <memory>

#include "egl_image.hpp"
#include "yuv.hpp"

namespace gstdrm::egl {

class Program;
class Triangle;

// Whether a frame of this pair can be drawn where its planes can be imported and the display lists
// `textures` as 2D: packed 4:2:2 takes one more.
[[nodiscard]] bool can_draw_planes(Format format, const FormatSet &textures) noexcept;
// Whether these are samples of more than 8 bits, which drivers convert less exactly
// (docs/drivers.md).
[[nodiscard]] bool is_drawn_exacter(std::uint32_t fourcc) noexcept;

// GL state as with the Painter; three texture units are used.
class PlanesPainter {
public:
  // Of frames with this fourcc, which yuv_samples() knows. Error of code Device with GL's words.
  static Result<std::unique_ptr<PlanesPainter>> make(const std::shared_ptr<Device> &device,
                                                     std::uint32_t fourcc);
  PlanesPainter(const PlanesPainter &) = delete;
  PlanesPainter &operator=(const PlanesPainter &) = delete;
  ~PlanesPainter();

  // `planes` is an import of Shape::Drawn. Into the whole 2D texture `into`, which has the size
  // of the first plane, with one draw call; nothing is created. Error of code Device with GL's
  // words.
  Result<void> draw(const ImportedFrame &planes, const YuvColours &colours, GLuint into) const;

private:
  PlanesPainter(std::shared_ptr<Device> device, std::uint32_t fourcc);
  void set_uniforms(const ImportedFrame &planes, const YuvColours &colours) const;
  void bind_planes(const ImportedFrame &planes) const;

  const std::shared_ptr<Device> device_;
  const std::uint32_t fourcc_;
  std::unique_ptr<Triangle> triangle_;
  std::unique_ptr<Program> program_;
  GLuint framebuffer_ = 0;
};

} // namespace gstdrm::egl
