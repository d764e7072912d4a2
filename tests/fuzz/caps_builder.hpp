// SPDX-License-Identifier: LGPL-2.1-or-later
// GstCaps from bytes, without any text being parsed: GStreamer's parser takes time that is exponential in the depth of
// brackets, and refuses much that a plugin may build.
#pragma once

#include <gst/gst.h>

#include "fuzz/bytes.hpp"

namespace gstdrm::test {

// Up to four structures of up to seven fields with values of any type, nested to a depth of four. Everything is what
// GStreamer's own functions let a caller make.
GstCaps *build_caps(Bytes &bytes);

} // namespace gstdrm::test
