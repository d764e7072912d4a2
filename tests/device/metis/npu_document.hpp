// SPDX-License-Identifier: LGPL-2.1-or-later
// Parts of the program npu_element.
#pragma once

#include "support/check_main.hpp"

namespace gstdrm::test {

TCase *npu_document_cases(); // the invariants and the failure table of docs/axl.md
TCase *npu_syscall_cases();  // what a frame costs

} // namespace gstdrm::test
