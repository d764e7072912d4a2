// SPDX-License-Identifier: LGPL-2.1-or-later
// Never installed.
#pragma once

#include <string>

#include <gst/gst.h>

namespace gstdrm {

// gst_caps_to_string() for caps from anywhere, those with values that have no text included.
std::string caps_text(const GstCaps *caps);

} // namespace gstdrm
