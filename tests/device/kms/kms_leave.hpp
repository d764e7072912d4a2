// SPDX-License-Identifier: LGPL-2.1-or-later
// Cases of the program kms_lifecycle about restore=false: the last frame stays on screen.
#pragma once

#include "kms_support.hpp"

namespace gstdrm::test {

void add_leave_cases(Suite *suite);

} // namespace gstdrm::test
