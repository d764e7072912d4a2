// SPDX-License-Identifier: LGPL-2.1-or-later
// The clock of the kernel that a test runs on.
#pragma once

#include <cstdlib>
#include <ctime>
#include <string_view>

#include <gst/gst.h>

namespace gstdrm::test {

// The box's kernel whose clock stands still while a process works, so that a busy machine is never
// late.
inline bool on_virtual_time()
{
  const char *box = std::getenv("GST_DRM_IN_BOX");
  return box && std::string_view(box) == "virtual";
}

// CLOCK_MONOTONIC
inline guint64 now_ns()
{
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<guint64>(now.tv_sec) * GST_SECOND + static_cast<guint64>(now.tv_nsec);
}

} // namespace gstdrm::test
