// SPDX-License-Identifier: LGPL-2.1-or-later
// The display that a program's cases share, and imports on it.
#pragma once

#include <memory>
#include <vector>

#include "egl_frames.hpp"
#include "egl_sampler.hpp"
#include "engine/egl_image.hpp"
#include "support/check_main.hpp"
#include "support/egl_context.hpp"

namespace gstdrm::test {

// For as long as the program runs.
struct EglSetup {
  std::unique_ptr<EglContext> context;
  std::shared_ptr<egl::Device> device;
  std::unique_ptr<Sampler> sampler;
};
inline EglSetup setup;

void open_device(EglPlatform platform);
void close_device();

// Whether the device imports. If not, importing the frame must fail for the reason that the device
// gives, in both shapes.
bool imports(const FrameLayout &layout);

std::shared_ptr<const egl::ImportedFrame> import(const FrameLayout &layout, egl::Shape shape,
                                                 const egl::ColorHints &hints = {});

// The largest distance between what the shader sees and what the reference computes, of 255, and
// how many values were compared.
struct Difference {
  double largest = 0;
  unsigned compared = 0;
};
Difference difference(const std::vector<float> &seen, const PatternFrame &frame,
                      const YuvMatrix &matrix);

} // namespace gstdrm::test
