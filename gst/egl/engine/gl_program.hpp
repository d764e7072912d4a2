// SPDX-License-Identifier: LGPL-2.1-or-later
// The programs of the painters. For the thread on which the device's context is current.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "egl_device.hpp"
#include "egl_image.hpp"

namespace gstdrm::egl {

// A fragment shader in the words that all versions of GLSL have here: IN, SAMPLER, TEXTURE, RESULT.
// `at` is where it is, in units of the uniform plane_size.
struct ProgramText {
  const char *fragment;
  const char *defines; // lines before it
};

// A program of the vertex shader that both painters have, and of a fragment shader.
class Program {
public:
  // Error of code Device with the compiler's or the linker's own words.
  static Result<std::unique_ptr<Program>> make(const std::shared_ptr<Device> &device, Target target,
                                               const ProgramText &text);
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;
  ~Program();

  void use() const { device_->calls().gl.use_program(id_); }
  // Of the program in use. Names are literals; GL ignores a uniform that the program has not, whose
  // location is -1 (OpenGL ES 2.0, 2.10.4).
  void set(const char *uniform, GLint value) const;
  void set(const char *uniform, const std::array<float, 2> &value) const;
  void set(const char *uniform, const std::array<float, 4> &value) const;

private:
  explicit Program(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  GLint place_of(const char *uniform) const;

  std::shared_ptr<Device> device_;
  GLuint id_ = 0;
  mutable std::vector<std::pair<std::string_view, GLint>> places_; // of uniforms that were set
};

} // namespace gstdrm::egl
