// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws a texture into the planes of a frame: RGB as it is, and YUV with the conversion on the GPU.
// For the thread on which the device's context is current.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "egl_image.hpp"

namespace gstdrm::egl {

// The nine factors and the three offsets from R'G'B' (0 to 1) to Y'CbCr (0 to 1 as the samples of
// the plane are stored).
struct RgbToYuv {
  std::array<float, 9> factors{};
  std::array<float, 3> offsets{};
};

// A frame in dma-bufs that GL draws into: a texture and a framebuffer object for each plane.
class DrawTarget {
public:
  // Every plane is a 2D image: R8, GR88, R16, GR1616 of YUV, the fourcc itself of RGB. Error of
  // code Import with EGL's words, or Unsupported where the driver cannot draw into such an image.
  static Result<std::shared_ptr<DrawTarget>> import(const std::shared_ptr<Device> &device,
                                                    const FrameLayout &layout);
  DrawTarget(const DrawTarget &) = delete;
  DrawTarget &operator=(const DrawTarget &) = delete;
  ~DrawTarget();

private:
  friend class Painter;
  DrawTarget() = default;
  std::shared_ptr<Device> device_;
  Format format_;
  std::vector<Texture> planes_;
  std::array<GLuint, kMaxPlanes> framebuffers_{};
};

// The programs and the vertices. The GL state that a draw changes is put back to what GStreamer's
// own elements expect: the defaults of GL.
class Painter {
public:
  static Result<std::unique_ptr<Painter>> make(const std::shared_ptr<Device> &device);
  Painter(const Painter &) = delete;
  Painter &operator=(const Painter &) = delete;
  ~Painter();

  // The whole texture into the whole frame, sampled at the centres of the pixels where the sizes
  // are the same. `matrix` is used for YUV alone; chroma of a subsampled plane is the mean of the
  // pixels that it stands for. `flip` turns the picture upside down.
  Result<void> draw(GLuint texture, Target target, const DrawTarget &into, const RgbToYuv &matrix,
                    bool flip = false);

private:
  struct Programs;
  explicit Painter(std::shared_ptr<Device> device);
  std::shared_ptr<Device> device_;
  std::unique_ptr<Programs> programs_;
};

} // namespace gstdrm::egl
