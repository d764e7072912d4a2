// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "trace.hpp"

namespace gstdrm::verify {

// Keeps a file up to date with a trace, on a thread of its own, so that a program that crashes or
// hangs leaves what was seen up to then. The file is replaced as a whole: who reads it never sees a
// half. A file of the same name and ".stop", which gst-drm-verify-1.0 --stop makes, ends the trace
// while the program goes on.
class TraceFile {
public:
  // The thread starts with the first frame, and calls `at_stop` before a trace ends that is to end.
  // `trace` outlives this object.
  TraceFile(Trace &trace, std::string path, std::function<void()> at_stop);
  TraceFile(const TraceFile &) = delete;
  TraceFile &operator=(const TraceFile &) = delete;
  ~TraceFile() { stop(); }

  // Throws std::system_error if there is no thread to be had. Any thread.
  void start();
  // Whether the trace has ended before the program.
  [[nodiscard]] bool has_ended() const noexcept { return ended_.load(std::memory_order_relaxed); }
  // Writes the last state, unless no frame came or the trace has ended. For the end of the program,
  // also on exit() with threads that still run.
  void finish() noexcept;

private:
  void stop() noexcept;
  void run() noexcept;
  void write(bool finished);

  Trace &trace_;
  const std::string path_;
  const std::function<void()> at_stop_;
  const int pid_; // a child process after fork() has neither the thread nor the file
  std::mutex lock_;
  std::condition_variable wake_;
  bool ends_ = false;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

} // namespace gstdrm::verify
