// SPDX-License-Identifier: LGPL-2.1-or-later
// A case of the program kms_lifecycle about many runs of sinks that take each other's place.
#pragma once

#include "kms_support.hpp"

namespace gstdrm::test {

void add_restart_case(TCase *tc);

} // namespace gstdrm::test
