// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies a texture into a framebuffer as it is, without a program. For the thread on which the
// device's context is current.
#pragma once

#include <cstdint>
#include <memory>

#include "egl_device.hpp"

namespace gstdrm::egl {

// glBlitFramebuffer(): drivers copy the bytes where both have one format, which costs less than a
// draw that samples each pixel. What the copy changes of GL's state is put back.
class Blitter {
public:
  explicit Blitter(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  Blitter(const Blitter &) = delete;
  Blitter &operator=(const Blitter &) = delete;
  ~Blitter();

  // A texture of GL_TEXTURE_2D into a framebuffer of the same size. false, and nothing done, where
  // the driver does not; it is not asked again then.
  [[nodiscard]] bool copy(GLuint texture, GLuint framebuffer, std::uint32_t width,
                          std::uint32_t height);

private:
  std::shared_ptr<Device> device_;
  GLuint source_ = 0; // the framebuffer that the texture becomes for a copy
  bool refused_ = false;
};

} // namespace gstdrm::egl
