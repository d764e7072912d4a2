// SPDX-License-Identifier: LGPL-2.1-or-later
// The GL thread of a GstGLContext, and the engine's device on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/gl/gl.h>

#include "engine/egl_device.hpp"

namespace gstdrm {

// Watches the main loop of a GL thread. Everything that a GstGLContext does with GL, for elements
// and for applications, is dispatched by that loop: within one poll() of it, the thread gives GL no
// command. Jobs of this class count as part of the poll() that they interrupt.
class GlLoop {
public:
  // Reads no texture. `runs` is false where the loop has ended; then it is on any thread.
  using Job = std::function<void(bool runs)>;

  GlLoop() = default;
  GlLoop(const GlLoop &) = delete;
  GlLoop &operator=(const GlLoop &) = delete;
  ~GlLoop(); // any thread

  // On the GL thread, in a job. A job that no main loop runs leaves nothing to watch.
  void watch();
  // Number of the current poll(), from 1; 0 while the loop dispatches, or when it is not watched.
  // Any thread.
  [[nodiscard]] std::uint64_t sleep() const noexcept;
  // Has the loop run a job before all others that wait for it. Returns false, and does nothing, if
  // no loop is watched. Any thread.
  [[nodiscard]] bool run(Job job);
  // Ends jobs that a loop, which has ended, left over. Any thread.
  void drop_jobs();

private:
  struct State;
  struct Source;
  static gboolean prepare(GSource *source, gint *timeout_ms) noexcept;
  static gboolean check(GSource *source) noexcept;
  static gboolean dispatch(GSource *source, GSourceFunc, gpointer) noexcept;
  static void finalize(GSource *source) noexcept;

  GSource *source_ = nullptr;
  std::shared_ptr<State> state_; // the source has it too: its thread may be in one of the functions
};

// One for each GstGLContext and element. Any thread, except where a function says otherwise. The
// last owner may let go of it on the GL thread, too.
class GlThread : public std::enable_shared_from_this<GlThread> {
public:
  using Count = std::shared_ptr<std::atomic<std::uint64_t>>;
  // Sleeps for one hop to the GL thread; `hops` counts that one and those that follow. A context
  // that is not of EGL (GLX, CGL) has a device that imports nothing.
  static Result<std::shared_ptr<GlThread>>
  open(GstGLContext *context, Count hops = std::make_shared<std::atomic<std::uint64_t>>(0));
  GlThread(const GlThread &) = delete;
  GlThread &operator=(const GlThread &) = delete;
  ~GlThread();

  [[nodiscard]] GstGLContext *context() const noexcept { return context_.get(); }
  [[nodiscard]] const std::shared_ptr<egl::Device> &device() const noexcept { return device_; }

  // Runs `job` on the GL thread and sleeps until it is done; runs it here where this is that
  // thread. An exception becomes an Error of code Device, and so does a context that is lost: what
  // `job` returned says nothing then.
  Result<void> run(const std::function<Result<void>(egl::Device &device)> &job);
  // Runs `job` later on the GL thread, after what was given to that thread before; at once where
  // this is that thread. Nothing sleeps. The GL thread lives until the job has run, and `job` owns
  // all else that it needs. `has_context` is false where GStreamer threw the job away, which it
  // does with a window that was closed; then `job` runs on any thread.
  void run_later(std::function<void(bool has_context)> job);

  // The same for a job that reads no texture and need not wait for what was given to that thread
  // before. It leaves sleep() as it is.
  void run_soon(std::function<void(bool has_context)> job);

  // Sleeps until the GL thread has done all that it was given, without a limit (run_on()).
  void finish() noexcept;
  // An element calls this before it lets go of the thread. finish(), and from now on run_later()
  // and run_soon() sleep until their job is done: a texture that an application keeps beyond the
  // element may be the last owner of the context. The context then ends in the thread that drops
  // the texture, as with GStreamer's own textures. Ended later, it would take the EGL display away
  // from the next pipeline (GstGLDisplayEGL terminates it).
  void retire() noexcept;

  // GlLoop::sleep(), and 0 where another context shares textures with this one. The same number
  // twice, and not 0: in between, nobody drew with a texture of this context.
  [[nodiscard]] std::uint64_t sleep() const noexcept;

  // Hops that somebody slept for.
  [[nodiscard]] std::uint64_t hops() const noexcept { return *hops_; }

private:
  GlThread() = default;
  [[nodiscard]] bool is_current() const noexcept;

  GstPtr<GstGLContext> context_;
  std::shared_ptr<egl::Device> device_;
  GlLoop loop_;
  Count hops_;
  std::atomic<bool> is_retired_{false};
};

// Holds a value that has to be destroyed on the GL thread: textures, images. The last owner, on
// whatever thread, hands it over and does not wait.
template <typename T>
std::shared_ptr<T> destroy_on(const std::shared_ptr<GlThread> &thread, std::shared_ptr<T> value)
{
  T *const pointer = value.get();
  return std::shared_ptr<T>(pointer, [thread, value = std::move(value)](T *) mutable {
    // without a context GL ignores what it is asked
    thread->run_later([value = std::move(value)](bool /*has_context*/) mutable { value.reset(); });
  });
}

} // namespace gstdrm
