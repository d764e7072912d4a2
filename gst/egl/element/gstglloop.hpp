// SPDX-License-Identifier: LGPL-2.1-or-later
// The main loop of the GL thread: whether it has done anything, and jobs that are no work of GL.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <glib.h>

namespace gstdrm {

// Everything that a GstGLContext does with GL, for elements and for applications, is a job of the
// main loop that its thread runs. While that loop sleeps in one and the same sleep, no command was
// given to GL by that thread. Jobs of this class wake it, and count as part of the sleep.
class GlLoop {
public:
  // Reads no texture. `runs` is false where the loop came to no end of it; then it is on any
  // thread.
  using Job = std::function<void(bool runs)>;

  GlLoop() = default;
  GlLoop(const GlLoop &) = delete;
  GlLoop &operator=(const GlLoop &) = delete;
  ~GlLoop(); // any thread

  // On the GL thread, in a job. A job that no main loop runs leaves nothing to watch.
  void watch();
  // Number of the current poll(); 0 while dispatching or when not monitored. Any thread.
  [[nodiscard]] std::uint64_t sleep() const noexcept;
  // Wakes the loop from its sleep for a job, which comes before all others that wait for the loop.
  // Returns false, and does nothing, if it does not sleep. Any thread.
  [[nodiscard]] bool wake_for(Job job);
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
  std::shared_ptr<State> state_;
};

} // namespace gstdrm
