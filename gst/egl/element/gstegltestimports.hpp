// SPDX-License-Identifier: LGPL-2.1-or-later
// Test imports at the negotiated size, in memory of the element's own.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>

#include "engine/egl_probe.hpp"
#include "gstglthread.hpp"

namespace gstdrm {

// Remembers the results of one device. The streaming thread's alone.
class TestImports {
public:
  // All that an import is made of.
  struct Frame {
    Format format;
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    egl::Shape shape = egl::Shape::OneImage;
    egl::Target target = egl::Target::Texture2D;
    egl::ColorHints hints;
    friend auto operator<=>(const Frame &, const Frame &) = default;
  };

  // Whether `thread`'s device imports such frames, and with which rows. NotTried if no memory for
  // the test can be had, or if a refusal there says nothing of other memory.
  egl::Probe run(const std::shared_ptr<GlThread> &thread, const Frame &frame);
  // Lets go of all results.
  void forget();

private:
  std::weak_ptr<GlThread> thread_; // of the results
  std::map<Frame, egl::Probe> results_;
};

} // namespace gstdrm
