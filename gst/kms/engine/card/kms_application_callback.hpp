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
  virtual void enter_application() noexcept = 0;
  virtual void leave_application() noexcept = 0;
};

inline thread_local OwnThread *current_own_thread = nullptr; // null: another thread

// While it lives, the present thread is in code of the application's. The thread holds no lock of
// the engine's, and uses nothing afterwards that may have ended meanwhile.
class InApplicationCallback {
public:
  InApplicationCallback() noexcept
  {
    if (thread_)
      thread_->enter_application();
  }
  ~InApplicationCallback()
  {
    if (thread_)
      thread_->leave_application();
  }
  InApplicationCallback(const InApplicationCallback &) = delete;
  InApplicationCallback &operator=(const InApplicationCallback &) = delete;

private:
  OwnThread *const thread_ = current_own_thread;
};

} // namespace gstdrm::kms
