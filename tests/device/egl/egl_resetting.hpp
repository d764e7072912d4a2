// SPDX-License-Identifier: LGPL-2.1-or-later
// The machine's own driver whose contexts are robust and whose GPU is reset when a test says so.
// llvmpipe knows no resets, so two of its functions are the test's: GStreamer looks the functions
// of each context up through a virtual function of GstGLContext. Everything else is the driver.
#pragma once

#include <gst/gl/gl.h>

namespace gstdrm::test {

// Contexts that an element looks up its functions of from now on are robust, or as they are. One
// context of the process has to be there or have been there. Any thread.
void make_contexts_robust(bool robust);
// From now on this context is lost, as glGetGraphicsResetStatus() says; nullptr: none is.
void lose_context(GstGLContext *context);

// For as long as this lives.
class Robust {
public:
  Robust() { make_contexts_robust(true); }
  Robust(const Robust &) = delete;
  Robust &operator=(const Robust &) = delete;
  ~Robust()
  {
    make_contexts_robust(false);
    lose_context(nullptr);
  }
};

} // namespace gstdrm::test
