// SPDX-License-Identifier: LGPL-2.1-or-later
// Cases of the program egl_download about what the frames show.
#pragma once

#include "support/check_main.hpp"

namespace gstdrm::test {

void add_download_pixel_cases(TCase *tcase);

} // namespace gstdrm::test
