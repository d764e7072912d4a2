// SPDX-License-Identifier: LGPL-2.1-or-later
// A thread of the engine's that is in code of the application's. Whoever ends the thread does not
// wait for it there: the application may wait in turn, for a lock of whoever ends the thread. Two
// threads that set the state of one pipeline at once do so, where one of them is a synchronous bus
// handler. Header only.
#pragma once

namespace gstdrm::kms {

// One of the engine's own threads, which has set current_own_thread.
class OwnThread {
public:
  virtual ~OwnThread() = default;
  // By the thread itself, in pairs, which may be nested.
  virtual void go_out() noexcept = 0;
  virtual void come_back() noexcept = 0;
};

inline thread_local OwnThread *current_own_thread = nullptr; // null: another thread

// While it lives, the present thread is in code of the application's. The thread holds no lock of
// the engine's, and uses nothing afterwards that may have ended meanwhile.
class Outside {
public:
  Outside() noexcept
  {
    if (thread_)
      thread_->go_out();
  }
  ~Outside()
  {
    if (thread_)
      thread_->come_back();
  }
  Outside(const Outside &) = delete;
  Outside &operator=(const Outside &) = delete;

private:
  OwnThread *const thread_ = current_own_thread;
};

} // namespace gstdrm::kms
