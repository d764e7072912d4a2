// SPDX-License-Identifier: LGPL-2.1-or-later
// Cases of the program kms_beside_ui about a sink on a lease of a display that is lit.
#pragma once

#include "kms_support.hpp"

namespace gstdrm::test {

void add_lease_cases(Suite *suite);

} // namespace gstdrm::test
