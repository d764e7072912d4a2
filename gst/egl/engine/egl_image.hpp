// SPDX-License-Identifier: LGPL-2.1-or-later
// Dma-bufs as GL textures. Everything here is for the thread on which the device's context is
// current.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <gst/drm/core/frame_layout.hpp>

#include "egl_device.hpp"

namespace gstdrm::egl {

enum class Target { Texture2D, External }; // GL_TEXTURE_2D, GL_TEXTURE_EXTERNAL_OES
[[nodiscard]] GLenum gl_target(Target target) noexcept;

// Hints for YUV (EGL_EXT_image_dma_buf_import); 0: not given, the driver's default.
struct ColorHints {
  EGLint space = 0;             // EGL_ITU_REC601_EXT, _REC709_EXT, _REC2020_EXT
  EGLint range = 0;             // EGL_YUV_FULL_RANGE_EXT, _NARROW_RANGE_EXT
  EGLint siting_horizontal = 0; // EGL_YUV_CHROMA_SITING_0_EXT, _0_5_EXT
  EGLint siting_vertical = 0;
  friend auto operator<=>(const ColorHints &, const ColorHints &) = default;
};

// What becomes of one frame.
enum class Shape {
  OneImage, // one texture; YUV is converted to RGB by the driver when it is sampled
  PerPlane, // one texture for each plane, as bytes: R8, GR88, R16, GR1616
  Drawn,    // for PlanesPainter: those of PerPlane, and of packed 4:2:2 one more for its chroma
};

// The fourcc of plane `index` as an image of its own, with the modifier of the whole: R8 and GR88
// for NV12, GR88 for YUYV. Nothing where the plane's samples are no such format, or where `index`
// is no plane.
std::optional<Format> plane_format(Format format, std::size_t index) noexcept;
// Whether each plane is listed as an image of its own.
bool has_all_planes(const FormatSet &listed, Format format) noexcept;
// The second texture of packed 4:2:2 (Shape::Drawn), with half of the width; nothing of others.
std::optional<Format> packed_chroma_format(Format format) noexcept;
// The same of all planes, each with its own width and height, checked as a whole before. Error of
// code Unsupported where a plane has no such format.
Result<std::array<FrameLayout, kMaxPlanes>> split_planes(const FrameLayout &layout);

// The target that the pair allows on this device: 2D wherever it can be, as every shader reads it;
// nothing where neither is possible.
std::optional<Target> target_of(const Device &device, Format format);

// One EGLImage with its texture.
class Texture {
public:
  // One eglCreateImageKHR() with every plane of the layout: fd, offset, pitch, and the modifier
  // unless it is implicit. No second try without it. `layout` has passed check_layout() and
  // Device::check_frame(). Error of code Import with EGL's error in words and the whole plane
  // table; of code Allocation, with errno, where no descriptor is left, which says nothing of the
  // frame.
  static Result<Texture> import(const Device &device, const FrameLayout &layout, Target target,
                                const ColorHints &hints);
  Texture(Texture &&other) noexcept;
  Texture &operator=(Texture &&) = delete;
  ~Texture();
  // Gives the image to the texture again, for new pixels in the same dma-buf. Drivers whose GPU
  // samples a copy of a linear buffer (Mesa: etnaviv, vc4, v3d) renew the copy then alone.
  void bind_again() const;
  [[nodiscard]] GLuint id() const noexcept { return id_; }
  [[nodiscard]] Target target() const noexcept { return target_; }
  [[nodiscard]] std::uint32_t width() const noexcept { return width_; }
  [[nodiscard]] std::uint32_t height() const noexcept { return height_; }

private:
  Texture(const Device &device, EGLImageKHR image, Target target)
      : device_(device), image_(image), target_(target)
  {
  }
  const Device &device_; // outlives this
  EGLImageKHR image_;
  Target target_;
  GLuint id_ = 0;
  std::uint32_t width_ = 0;
  std::uint32_t height_ = 0;
};

// The textures of one frame, and the device that they belong to.
struct ImportedFrame {
  std::shared_ptr<Device> device;
  std::vector<Texture> textures; // one, or one for each plane
};

// check_frame(), and the import in that shape. One image becomes an external texture where that is
// wanted, though the driver would make a 2D one of the pair. Error of code Import, Layout,
// Unsupported or Allocation.
Result<std::shared_ptr<const ImportedFrame>> import_frame(const std::shared_ptr<Device> &device,
                                                          const FrameLayout &layout, Shape shape,
                                                          const ColorHints &hints,
                                                          Target wanted = Target::Texture2D);

} // namespace gstdrm::egl
