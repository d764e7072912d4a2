// SPDX-License-Identifier: LGPL-2.1-or-later
// What the parts of the test egl_upload share.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "gl_frames.hpp"

namespace gstdrm::test {

inline const std::string kXrgb = plain_caps("BGRx", 320, 240);
inline const std::string kNv12 = plain_caps("NV12", 320, 240);

inline Gl *gl; // of the present case

// Keeps the GL thread in a job until let_go(). libcheck jumps out of a case that fails without
// destructors: what the job reads is its own, and the end of the case lets go of it.
class HeldGlThread {
public:
  explicit HeldGlThread(Gl &held)
  {
    last = state_;
    held.thread->run_later([state = state_](bool) {
      state->is_there = true;
      while (!state->may_go)
        std::this_thread::yield();
    });
    while (!state_->is_there)
      std::this_thread::yield();
  }
  HeldGlThread(const HeldGlThread &) = delete;
  HeldGlThread &operator=(const HeldGlThread &) = delete;
  ~HeldGlThread() { let_go(); }
  void let_go() { state_->may_go = true; }
  static void let_go_of_last()
  {
    if (const std::shared_ptr<State> state = last.lock())
      state->may_go = true;
  }

private:
  struct State {
    std::atomic<bool> is_there{false};
    std::atomic<bool> may_go{false};
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  static inline std::weak_ptr<State> last;
};

// egl_upload_costs.cpp
void add_cost_tests(TCase *imports);
// egl_upload_gpu.cpp
void add_gpu_tests(Suite *suite);

} // namespace gstdrm::test
