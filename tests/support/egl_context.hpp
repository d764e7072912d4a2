// SPDX-License-Identifier: LGPL-2.1-or-later
// An EGL display with a GL ES context on the machine's own driver, without a window and without
// GStreamer.
#pragma once

#include <memory>
#include <string>

#include "engine/egl_calls.hpp"

namespace gstdrm::test {

enum class EglPlatform { Surfaceless, Gbm };

struct EglOptions {
  EglPlatform platform = EglPlatform::Surfaceless;
  int gles_version = 2;
  std::string node = {}; // for GBM; empty: the first card of driver vkms
};

// The functions of libEGL.so.1, and the GL functions of its drivers, as GStreamer's contexts look
// them up. The library stays loaded. Error of code Unsupported where there is none.
Result<egl::Loader> library_loader();

// The node of the first card whose driver has that name, such as "/dev/dri/card1"; empty: none.
std::string card_of_driver(const char *driver);

// Current on the thread that made it. Contexts on one platform and node share their EGLDisplay,
// which ends with the last of them.
class EglContext {
public:
  // Null where the machine has none; `why_not` says why, for a skip.
  static std::unique_ptr<EglContext> make(const EglOptions &options, std::string &why_not);
  EglContext(const EglContext &) = delete;
  EglContext &operator=(const EglContext &) = delete;
  // On the thread where it is current, or on any where it is on none.
  ~EglContext();

  [[nodiscard]] EGLDisplay display() const noexcept;
  [[nodiscard]] const egl::Calls &calls() const noexcept { return calls_; }
  // As the engine's load_calls() takes them.
  [[nodiscard]] const egl::Loader &loader() const noexcept { return loader_; }

  [[nodiscard]] bool make_current();
  void release(); // no context is current on this thread after it

private:
  struct Display;
  EglContext() = default;

  std::shared_ptr<Display> display_;
  EGLContext context_ = EGL_NO_CONTEXT;
  egl::Loader loader_;
  egl::Calls calls_;
};

} // namespace gstdrm::test
