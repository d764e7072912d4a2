// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "trace.hpp"

namespace gstdrm::verify {

// Keeps a file up to date with a trace, on a thread of its own, so that a program that crashes or
// hangs leaves what was seen up to then. The file is replaced as a whole: who reads it never sees a
// half.
class TraceFile {
public:
  // The thread starts with the first frame. `trace` outlives this object.
  TraceFile(Trace &trace, std::string path);
  TraceFile(const TraceFile &) = delete;
  TraceFile &operator=(const TraceFile &) = delete;
  ~TraceFile() { stop(); }

  // Throws std::system_error if there is no thread to be had. Any thread.
  void start();
  // Writes the last state, unless no frame came. For the end of the program, also on exit() with
  // threads that still run.
  void finish() noexcept;

private:
  void stop() noexcept;
  void run() noexcept;
  void write(bool finished);

  Trace &trace_;
  const std::string path_;
  const int pid_; // a child process after fork() has neither the thread nor the file
  std::mutex lock_;
  std::condition_variable wake_;
  bool ends_ = false;
  std::thread thread_;
};

} // namespace gstdrm::verify
