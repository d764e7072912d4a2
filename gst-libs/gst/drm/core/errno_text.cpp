// SPDX-License-Identifier: LGPL-2.1-or-later
#include "errno_text.hpp"

#include <cstring>

namespace gstdrm {

std::string errno_text(int sys_errno)
{
  // strerror() is not safe between threads; these two are, and need glibc 2.32.
  const char *name = strerrorname_np(sys_errno);
  const char *meaning = strerrordesc_np(sys_errno);
  if (!name || !meaning)
    return "errno " + std::to_string(sys_errno);
  return std::string(name) + " (" + meaning + ")";
}

} // namespace gstdrm
