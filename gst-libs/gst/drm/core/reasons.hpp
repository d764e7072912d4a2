// SPDX-License-Identifier: LGPL-2.1-or-later
// Why none of several ways led anywhere, as one Error.
#pragma once

#include <string>

#include "result.hpp"

namespace gstdrm {

// Adds what `one` says behind what is known already: a sentence that is there is not said again,
// and the errno is the first one, as advice goes by it. `all` keeps its code; without a message it
// stands for no reason.
inline void add_reason(Error &all, const Error &one)
{
  if (all.message.find(one.message) == std::string::npos)
    all.message += (all.message.empty() ? "" : ". ") + one.message;
  if (all.sys_errno == 0)
    all.sys_errno = one.sys_errno;
}

} // namespace gstdrm
