// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws a texture into a picture of its size, and reads that back: what a shader sees of it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/egl_image.hpp"

namespace gstdrm::test {

// For the thread on which the device's context is current, as long as this lives.
class Sampler {
public:
  explicit Sampler(const egl::Device &device);
  Sampler(const Sampler &) = delete;
  Sampler &operator=(const Sampler &) = delete;
  ~Sampler();

  // Four components of each pixel, 0 to 1, row by row.
  std::vector<float> read(const egl::Texture &texture);

private:
  GLuint build(const char *fragment);
  const egl::Device &device_;
  GLuint from_2d_ = 0;
  GLuint from_external_ = 0;
  GLuint vertices_ = 0;
};

} // namespace gstdrm::test
