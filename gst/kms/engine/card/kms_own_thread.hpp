// SPDX-License-Identifier: LGPL-2.1-or-later
// A thread of the engine's, which may be in code of the application's. Whoever ends the thread does
// not wait for it there: the application may wait in turn, for a lock of whoever ends the thread.
// Two threads that set the state of one pipeline at once do so, where one of them is a synchronous
// bus handler.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/core/wake_fd.hpp>

namespace gstdrm::kms {

// What the thread uses, which may outlive whoever has started it.
class OwnThread {
public:
  OwnThread(int lock_rank, const char *lock_name) : lock_(lock_rank, lock_name) {}
  OwnThread(const OwnThread &) = delete;
  OwnThread &operator=(const OwnThread &) = delete;
  virtual ~OwnThread() = default;
  // Runs run() on a thread, "hotplug" for instance, until stop().
  static Result<void> start(const std::shared_ptr<OwnThread> &own, const std::string &name);
  // Ends the thread and waits for its end, but not while the thread is InApplicationCallback. That
  // thread, and the one that calls this on itself, ends as soon as the handler that it is in has
  // returned, and calls no other.
  void stop();
  // Ends a poll() of the thread's. Any thread; does not sleep.
  void wake() noexcept { wake_.wake(); }
  // The present thread is this one.
  [[nodiscard]] bool is_current() const noexcept;

  // By the thread itself, in pairs, which may be nested. Virtual for a fake in the unit tests.
  virtual void enter_application() noexcept;
  virtual void leave_application() noexcept;

protected:
  // Until quit_ is set, which wake_ tells of.
  virtual void run() noexcept = 0;

  WakeFd wake_;
  std::atomic<bool> quit_{false};
  mutable OrderedMutex lock_; // guards the two below
  OrderedCondition changed_;
  int outside_ = 0; // calls of enter_application() without leave_application()

private:
  bool ended_ = false; // run() has returned
  std::thread thread_;
};

inline thread_local OwnThread *current_own_thread = nullptr; // null: another thread

inline bool OwnThread::is_current() const noexcept
{
  return current_own_thread == this;
}

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
