// SPDX-License-Identifier: LGPL-2.1-or-later
// One triangle that covers whatever is drawn into. For the thread on which the device's context is
// current.
#pragma once

#include <memory>

#include "egl_device.hpp"

namespace gstdrm::egl {

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

} // namespace gstdrm::egl
