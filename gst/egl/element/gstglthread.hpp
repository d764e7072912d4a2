// SPDX-License-Identifier: LGPL-2.1-or-later
// The GL thread of a GstGLContext, and the engine's device on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/gl/gl.h>

#include "engine/egl_device.hpp"

namespace gstdrm {

// One for each GstGLContext and element. Any thread, except where a function says otherwise.
class GlThread : public std::enable_shared_from_this<GlThread> {
public:
  // Sleeps for one hop to the GL thread. Error of code Unsupported where the context is not of EGL
  // (GLX, CGL), with what to do: GST_GL_PLATFORM=egl.
  static Result<std::shared_ptr<GlThread>> open(GstGLContext *context);

  [[nodiscard]] GstGLContext *context() const noexcept { return context_.get(); }
  [[nodiscard]] const std::shared_ptr<egl::Device> &device() const noexcept { return device_; }

  // Runs `job` on the GL thread and sleeps until it is done; runs it here where this is that
  // thread. An exception becomes an Error of code Device.
  Result<void> run(const std::function<Result<void>(egl::Device &device)> &job);
  // Runs `job` later on the GL thread, after what was given to that thread before. Nothing sleeps.
  // `job` owns what it needs; where the GL thread has ended before the job ran, the job is
  // destroyed without a context (`job` is told: has_context).
  void run_later(std::function<void(bool has_context)> job);

  // Hops that somebody slept for.
  [[nodiscard]] std::uint64_t hops() const noexcept { return hops_; }

private:
  GlThread() = default;
  GstPtr<GstGLContext> context_;
  std::shared_ptr<egl::Device> device_;
  std::atomic<std::uint64_t> hops_{0};
};

// Holds a value that has to be destroyed on the GL thread: textures, images. The last owner, on
// whatever thread, hands it over and does not wait.
template <typename T>
std::shared_ptr<T> destroy_on(const std::shared_ptr<GlThread> &thread, std::shared_ptr<T> value);

} // namespace gstdrm
