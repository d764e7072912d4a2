// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <string>

namespace gstdrm {

// "EINVAL (Invalid argument)": the name to search for, and what it means to a person. Always in English, as the
// sentences around it are. "errno 4711" for a number without a name. Any thread.
std::string errno_text(int sys_errno);

} // namespace gstdrm
