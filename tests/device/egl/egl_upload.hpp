// SPDX-License-Identifier: LGPL-2.1-or-later
// What the parts of the test egl_upload share.
#pragma once

#include "gl_frames.hpp"

namespace gstdrm::test {

inline const std::string kXrgb = plain_caps("BGRx", 320, 240);
inline const std::string kNv12 = plain_caps("NV12", 320, 240);

inline Gl *gl; // of the present case

// egl_upload_costs.cpp
void add_cost_tests(TCase *imports);
// egl_upload_gpu.cpp
void add_gpu_tests(Suite *suite);

} // namespace gstdrm::test
