// SPDX-License-Identifier: LGPL-2.1-or-later
// What the parts of the test egl_upload share.
#pragma once

#include <atomic>
#include <thread>

#include "gl_frames.hpp"

namespace gstdrm::test {

inline const std::string kXrgb = plain_caps("BGRx", 320, 240);
inline const std::string kNv12 = plain_caps("NV12", 320, 240);

inline Gl *gl; // of the present case

// Keeps the GL thread in a job until let_go(). Has to outlive that job: call Gl::settle() after let_go().
class HeldGlThread {
public:
  explicit HeldGlThread(Gl &held)
  {
    held.thread->run_later([this](bool) {
      is_there_ = true;
      while (!may_go_)
        std::this_thread::yield();
    });
    while (!is_there_)
      std::this_thread::yield();
  }
  void let_go() { may_go_ = true; }

private:
  std::atomic<bool> is_there_{false};
  std::atomic<bool> may_go_{false};
};

// egl_upload_costs.cpp
void add_cost_tests(TCase *imports);
// egl_upload_gpu.cpp
void add_gpu_tests(Suite *suite);

} // namespace gstdrm::test
