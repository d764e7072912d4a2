// SPDX-License-Identifier: LGPL-2.1-or-later
// The programs of the painters. For the thread on which the device's context is current.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "egl_device.hpp"
#include "egl_image.hpp"

namespace gstdrm::egl {

inline constexpr GLuint kPosition = 0; // the attribute: corners of what is drawn, -1 to 1

// A fragment shader in the words that all versions of GLSL have here: IN, SAMPLER, TEXTURE, RESULT.
// `at` is where it is, in units of the uniform plane_size.
struct ProgramText {
  const char *fragment;
  const char *defines; // lines before it
};

// The name of a new program with that shader, which is the caller's. Error of code Device with the
// compiler's or the linker's own words.
Result<GLuint> link_program(const Device &device, Target target, const ProgramText &text);

// How many pixels of the picture make one sample of a plane.
enum class Taps { One, Nine };

// Each component of a sample is rows[i] · texel + offset[i].
struct PlaneUniforms {
  std::array<float, 2> plane_size{};      // samples
  std::array<float, 2> picture_size{};    // pixels
  std::array<float, 2> subsampling{1, 1}; // pixels of the picture for each sample
  bool flip = false;
  std::array<std::array<float, 4>, 4> rows{};
  std::array<float, 4> offset{};
  float step = 0;                       // samples are rounded to multiples of it; 0: they are not
  std::array<float, 3> across{0, 1, 0}; // Taps::Nine: the weights of the pixels -1, 0, +1
  std::array<float, 3> down{0, 1, 0};
};

// The Painter's program with its uniforms looked up.
class Program {
public:
  // As link_program().
  static Result<std::unique_ptr<Program>> make(const std::shared_ptr<Device> &device, Target target,
                                               Taps taps);
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;
  ~Program();

  // Makes it the program in use, sampling texture unit 0.
  void use(const PlaneUniforms &uniforms) const;

private:
  explicit Program(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  void find_uniforms();

  std::shared_ptr<Device> device_;
  GLuint id_ = 0;
  GLint texture_ = -1;
  GLint plane_size_ = -1;
  GLint picture_size_ = -1;
  GLint subsampling_ = -1;
  GLint lines_ = -1;
  std::array<GLint, 4> rows_{-1, -1, -1, -1};
  GLint offset_ = -1;
  GLint steps_ = -1;
  GLint across_ = -1;
  GLint down_ = -1;
};

} // namespace gstdrm::egl
