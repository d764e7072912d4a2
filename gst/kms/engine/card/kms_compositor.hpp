// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether a compositor takes this program's pictures: then a display is not the sink's to choose.
// Any thread.
#pragma once

#include <string>

namespace gstdrm::kms {

// "the Wayland compositor at /run/user/1000/wayland-0", "the X server at ..."; empty: none answers
// where clients look for one.
std::string find_compositor();

} // namespace gstdrm::kms
