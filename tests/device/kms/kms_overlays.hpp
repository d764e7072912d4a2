// SPDX-License-Identifier: LGPL-2.1-or-later
// Cases of the program kms_cursor about GstVideoOverlayComposition on a plane over the picture.
#pragma once

#include "kms_support.hpp"

namespace gstdrm::test {

void add_overlay_cases(TCase *tc);
void add_overlay_cases_on_virtual_time(TCase *tc);

} // namespace gstdrm::test
