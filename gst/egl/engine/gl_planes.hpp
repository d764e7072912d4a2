// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws the planes of a YUV frame of more than 8 bits as one RGBA texture, by the equations of its
// colours: drivers convert 10 bits less exactly (docs/drivers.md). For the thread on which the
// device's context is current.
#pragma once

#include <array>
#include <memory>

#include "egl_image.hpp"
#include "yuv_to_rgb.hpp"

namespace gstdrm::egl {

class Triangle;

// Whether PlanesPainter knows what the samples of this fourcc are.
[[nodiscard]] bool can_draw_planes(std::uint32_t fourcc) noexcept;

// GL state as with the Painter; three texture units are used.
class PlanesPainter {
public:
  // Of frames with this fourcc, of which can_draw_planes() is true. Error of code Device with GL's
  // words.
  static Result<std::unique_ptr<PlanesPainter>> make(const std::shared_ptr<Device> &device,
                                                     std::uint32_t fourcc);
  PlanesPainter(const PlanesPainter &) = delete;
  PlanesPainter &operator=(const PlanesPainter &) = delete;
  ~PlanesPainter();

  // `planes` is an import of Shape::PerPlane. Into the whole 2D texture `into`, which has the size
  // of the first plane, with one draw call; nothing is created. Error of code Device with GL's
  // words.
  Result<void> draw(const ImportedFrame &planes, const YuvColours &colours, GLuint into) const;

private:
  PlanesPainter(std::shared_ptr<Device> device, std::uint32_t fourcc);
  void find_uniforms();
  void set_uniforms(const ImportedFrame &planes, const YuvColours &colours) const;
  void bind_planes(const ImportedFrame &planes) const;

  const std::shared_ptr<Device> device_;
  const std::uint32_t fourcc_;
  std::unique_ptr<Triangle> triangle_;
  GLuint program_ = 0;
  GLuint framebuffer_ = 0;
  std::array<GLint, 3> samplers_{-1, -1, -1};
  GLint plane_size_ = -1;
  GLint chroma_scale_ = -1;
  std::array<GLint, 3> rows_{-1, -1, -1};
};

} // namespace gstdrm::egl
