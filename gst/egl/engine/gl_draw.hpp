// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws a texture into the planes of a frame: RGB as it is, and YUV with the conversion on the GPU.
// For the thread on which the device's context is current.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "egl_image.hpp"
#include "yuv.hpp"

namespace gstdrm::egl {

class Program;

// The pairs that the device may draw into: listed, not external-only, and for YUV with planes that
// can be images of their own. What an import and the framebuffer then say decides. Any thread.
FormatSet drawable_formats(const DisplayFormats &formats);

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
  DrawTarget(std::shared_ptr<Device> device, const FrameLayout &layout)
      : device_(std::move(device)), format_(layout.format), width_(layout.width),
        height_(layout.height)
  {
  }
  Result<void> add_plane(const FrameLayout &layout);

  std::shared_ptr<Device> device_;
  Format format_;
  std::uint32_t width_;
  std::uint32_t height_;
  std::vector<Texture> planes_;
  std::array<GLuint, kMaxPlanes> framebuffers_{};
};

// What is drawn.
struct Picture {
  GLuint texture = 0;
  Target target = Target::Texture2D;
  // Which component of the texture holds R, G, B and A; kOpaque: none, A is 1.
  static constexpr std::uint8_t kOpaque = 4;
  std::array<std::uint8_t, 4> order = {0, 1, 2, 3};
  bool flip = false; // the last row of the texture is the top of the picture
};

// The programs and the vertices. The GL state that a draw changes is put back: framebuffer and
// viewport to what they were, and all else to what GStreamer's own elements expect, the defaults of
// GL. Parameters of the texture are not touched, as another context may sample it meanwhile.
class Painter {
public:
  static Result<std::unique_ptr<Painter>> make(const std::shared_ptr<Device> &device);
  Painter(const Painter &) = delete;
  Painter &operator=(const Painter &) = delete;
  ~Painter();

  // Compiles what draw() of pictures like this one into frames of `fourcc` needs, whatever their
  // texture; nothing for a picture that is copied. Error of code Device with GL's words.
  Result<void> prepare(const Picture &picture, std::uint32_t fourcc);
  // The whole texture, which has the size of the frame, into the whole frame, with one draw call
  // for each plane, or with one copy where nothing of the picture changes. `conversion` is used for
  // YUV alone. Error of code Device with GL's words.
  Result<void> draw(const Picture &picture, const DrawTarget &into,
                    const YuvConversion &conversion);

private:
  struct Programs;
  Result<const Program *> program_of(Target target, bool subsampled);
  explicit Painter(std::shared_ptr<Device> device);
  std::shared_ptr<Device> device_;
  std::unique_ptr<Programs> programs_;
};

} // namespace gstdrm::egl
