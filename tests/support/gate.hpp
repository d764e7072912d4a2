// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <condition_variable>
#include <mutex>

namespace gstdrm::test {

// Where jobs and calls of a test wait until they are let through. Any thread.
class Gate {
public:
  void open()
  {
    const std::lock_guard guard(lock_);
    open_ = true;
    changed_.notify_all();
  }
  void pass()
  {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [this] { return open_; });
  }

private:
  std::mutex lock_; // guards open_
  std::condition_variable changed_;
  bool open_ = false;
};

} // namespace gstdrm::test
